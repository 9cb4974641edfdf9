//! Folders of streams that no server has open: what is damaged in them, what that costs, and mending it.

use super::super::core::{recovered, Config, Output, Owner, PartitionId, Streams};
use super::super::definition::{Partition as Definition, Rest};
use super::facts::Facts;
use super::files::{wall, Files};
use super::identity::{self, folder_name};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thalweg_foundation::{Bytes, Error, Kind, Result};
use thalweg_transport::journal::{verify, Disk};

/// Something wrong in a folder of streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub path: PathBuf,
    /// What is wrong.
    pub what: String,
    /// What that costs.
    pub cost: String,
    /// Whether `repair` mends it, and how; none: nothing can.
    pub mending: Option<String>,
}

fn io(path: &Path) -> impl Fn(std::io::Error) -> Error + '_ {
    move |e| Error::io(&format!("stream.check: {}", path.display()), e)
}

fn is_folder_of_streams(root: &Path) -> Result<()> {
    if root.join("facts").is_dir() || root.join("partitions").is_dir() {
        return Ok(());
    }
    let detail = format!(
        "{} holds no streams; give the folder that thalweg serve --streams was given",
        root.display()
    );
    Err(Error::new(Kind::NotFound, "stream.check", detail))
}

/// Reads every file of the folder of streams `root` and says what is damaged; changes nothing.
///
/// # Errors
/// `NotFound` when it is none, `Access` while a server has it open, `Io`.
pub fn check(root: &Path) -> Result<Vec<Problem>> {
    is_folder_of_streams(root)?;
    let mut problems = Vec::new();
    let catalogue = root.join("facts");
    let facts = copied_facts(&catalogue)?;
    if catalogue.is_dir() {
        let disk = Arc::new(Disk::open(&catalogue)?);
        for finding in verify(&*disk, disk.clone())? {
            let cost = match facts.damage().is_empty() {
                true => "nothing: what stands there stands in a checkpoint too",
                false => "topics may be missing, and acknowledged positions go back to earlier ones",
            };
            problems.push(Problem {
                path: catalogue.join(finding.file),
                what: finding.problem,
                cost: cost.into(),
                mending: Some(
                    "the catalogue is written again, from what can be read and the partitions' folders"
                        .into(),
                ),
            });
        }
    }
    let partitions = root.join("partitions");
    let folders = identity::folders(&partitions)?;
    let unknown = recovered(facts.all(), false, &folders).aside;
    for (id, owner) in &folders {
        let path = partitions.join(folder_name(*id));
        if unknown.contains(id) {
            problems.push(stray(path.clone(), owner.as_ref()));
        }
        let log = Disk::open(&path)?;
        let data = match owner {
            Some((_, Definition { rest: Rest::Apart { data }, .. })) => {
                Path::new(data).join(folder_name(*id))
            }
            _ => path.clone(),
        };
        let log = Arc::new(log);
        let data_disk = match data == path {
            true => log.clone(),
            false if data.is_dir() => Arc::new(Disk::open(&data)?),
            false => {
                let cost = format!("the data of all events of {}", name(*id, owner.as_ref()));
                problems.push(Problem {
                    path: data,
                    what: "the folder is missing".into(),
                    cost,
                    mending: None,
                });
                continue;
            }
        };
        for finding in verify(&*log, data_disk)? {
            let folder = if finding.file.ends_with(".data") { &data } else { &path };
            let cost = match finding.lost {
                None => "nothing".into(),
                Some((from, until)) => {
                    let events = match until {
                        Some(until) if until == from + 1 => format!("event {from}"),
                        Some(until) => format!("events {from} to {}", until - 1),
                        None => format!("event {from} and those behind it in this file"),
                    };
                    format!("{events} of {}", name(*id, owner.as_ref()))
                }
            };
            let mending = finding.mends.then(|| "it is made again".into());
            problems.push(Problem { path: folder.join(finding.file), what: finding.problem, cost, mending });
        }
    }
    let aside = root.join("aside");
    for (id, owner) in identity::folders(&aside)? {
        problems.push(stray(aside.join(folder_name(id)), owner.as_ref()));
    }
    Ok(problems)
}

/// A folder of no topic.
fn stray(path: PathBuf, owner: Option<&(Owner, Definition)>) -> Problem {
    let topic = owner.map(|(owner, _)| owner.topic.clone());
    let cost = match &topic {
        Some(topic) => format!("the events of a partition of topic \"{topic}\""),
        None => "the events in it; it does not tell of which topic".into(),
    };
    let mending =
        topic.map(|_| "the topic gets the partition back, where no other topic has its name".into());
    Problem { path, what: "the catalogue does not know this partition".into(), cost, mending }
}

fn name(id: PartitionId, owner: Option<&(Owner, Definition)>) -> String {
    match owner {
        Some((owner, _)) => format!("partition {} of topic \"{}\"", id.partition, owner.topic),
        None => format!("partition {}", folder_name(id)),
    }
}

/// The facts as a server would find them, read from a copy: opening the journal itself would mend it.
fn copied_facts(catalogue: &Path) -> Result<Facts> {
    let copy = std::env::temp_dir().join(format!("thalweg-check-{}", std::process::id()));
    let read = (|| {
        let _ = fs::remove_dir_all(&copy);
        fs::create_dir_all(&copy).map_err(io(&copy))?;
        if catalogue.is_dir() {
            for entry in fs::read_dir(catalogue).map_err(io(catalogue))? {
                let path = entry.map_err(io(catalogue))?.path();
                let target = copy.join(path.file_name().unwrap_or_default());
                fs::copy(&path, &target).map_err(io(&path))?;
            }
        }
        Facts::open(Some(&copy), wall())
    })();
    let _ = fs::remove_dir_all(&copy);
    read
}

/// Mends what can be mended in the folder of streams `root`: heads and indexes, the catalogue, topics whose partitions it did not
/// know. Nothing is deleted: what is replaced is put aside. What was done, and what is damaged still.
///
/// # Errors
/// As `check`; `Full`.
pub fn repair(root: &Path) -> Result<(Vec<String>, Vec<Problem>)> {
    let before = check(root)?;
    let (partitions, aside, catalogue) = (root.join("partitions"), root.join("aside"), root.join("facts"));
    let mut done = Vec::new();
    for (id, owner) in identity::folders(&aside)? {
        let (from, to) = (aside.join(folder_name(id)), partitions.join(folder_name(id)));
        if owner.is_some() && !to.exists() {
            fs::rename(&from, &to).map_err(io(&from))?;
        }
    }
    let mut facts = Facts::open(Some(&catalogue), wall())?;
    let found = recovered(facts.all(), true, &identity::folders(&partitions)?);
    let damaged = before.iter().any(|problem| problem.path.starts_with(&catalogue));
    if damaged || !found.facts.is_empty() {
        facts.remember(&found.facts, wall())?;
        let all: Vec<_> =
            facts.all().iter().map(|(fact, value)| (fact.clone(), Some(value.clone()))).collect();
        drop(facts);
        // Written anew beside the old one, which is kept.
        let fresh = root.join("facts.new");
        let _ = fs::remove_dir_all(&fresh);
        Facts::open(Some(&fresh), wall())?.remember(&all, wall())?;
        fs::create_dir_all(&aside).map_err(io(&aside))?;
        let free = |path: &PathBuf| !path.exists();
        let kept = (1u32..).map(|n| aside.join(format!("facts.{n}"))).find(free).unwrap_or_default();
        fs::rename(&catalogue, &kept).map_err(io(&catalogue))?;
        fs::rename(&fresh, &catalogue).map_err(io(&fresh))?;
        done.push(format!("wrote the catalogue again; the one before is {}", kept.display()));
        facts = Facts::open(Some(&catalogue), wall())?;
    }
    for topic in &found.topics {
        done.push(format!("topic \"{topic}\" has its partitions back"));
    }
    for id in found.aside {
        let target = identity::put_aside(&partitions, &aside, id)?;
        done.push(format!("put aside a folder that belongs to no topic: {}", target.display()));
    }
    // Opening a journal mends it.
    let mut out = Vec::new();
    Streams::new(Config::default(), facts.all(), &mut out)?;
    drop(facts);
    let files = Files::new(Some(partitions), Bytes(1 << 20));
    for output in out {
        if let Output::Open { partition, definition, owner, .. } = output {
            files.open(partition, &definition, &owner, wall())?;
        }
    }
    files.close_all();
    let left = check(root)?;
    for problem in before.into_iter().filter(|problem| problem.mending.is_some() && !left.contains(problem)) {
        done.push(format!("{}: {}: mended", problem.path.display(), problem.what));
    }
    Ok((done, left))
}
