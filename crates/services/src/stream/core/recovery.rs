//! A catalogue beside the folders of partitions that are there: what is made again from them, and what is put aside.

use super::super::definition::{Partition as Definition, Topic as Described};
use super::catalog::{encoded, Remembered};
use super::{Fact, Owner, PartitionId, Value};
use std::collections::{BTreeMap, BTreeSet};
use thalweg_foundation::base::Name;

/// What comes of the folders of which the catalogue knows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Facts that the folders tell, to be remembered.
    pub facts: Vec<(Fact, Value)>,
    /// Topics that were made again, or have partitions again that were missing.
    pub topics: BTreeSet<Name>,
    /// Folders of no topic: nobody asked for them to be deleted, so they are kept, out of the way.
    pub aside: Vec<PartitionId>,
}

/// Compares the catalogue with the `folders` that there are, each with whose it says that it is. Where the catalogue is `damaged`,
/// unknown folders are its missing topics; where it is whole, they are not: they came by a copy that was made while topics were, or
/// their topic was never acknowledged.
pub fn recovered(
    facts: &BTreeMap<Fact, Vec<u8>>,
    damaged: bool,
    folders: &[(PartitionId, Option<(Owner, Definition)>)],
) -> Recovered {
    let mut topics: BTreeMap<Name, Remembered> = BTreeMap::new();
    for (fact, value) in facts {
        if let (Fact::Topic(name), Ok(known)) = (fact, postcard::from_bytes::<Remembered>(value)) {
            topics.insert(name.clone(), known);
        }
    }
    let has = |topics: &BTreeMap<Name, Remembered>, id: PartitionId| {
        let partitions =
            topics.values().find(|known| known.number == id.topic).map(|k| k.topic.partitions.len());
        partitions.is_some_and(|count| (id.partition as usize) < count)
    };
    let mut found = Recovered::default();
    let mut unknown: Vec<_> = folders
        .iter()
        .filter(|(id, _)| !has(&topics, *id) && !facts.contains_key(&Fact::Removing(*id)))
        .collect();
    // Of two topics of one name the later one is the one that was there last.
    unknown.sort_by_key(|(id, _)| (std::cmp::Reverse(id.topic), id.partition));
    for (id, owner) in unknown {
        let Some((owner, definition)) = owner.as_ref().filter(|_| damaged) else {
            found.aside.push(*id);
            continue;
        };
        let topic = topics.entry(owner.topic.clone()).or_insert_with(|| {
            let Owner { validator, selector, serializer, .. } = owner.clone();
            Remembered {
                number: id.topic,
                topic: Described { partitions: Vec::new(), validator, selector, serializer },
            }
        });
        if topic.number != id.topic {
            found.aside.push(*id);
            continue;
        }
        // One whose folder is gone begins anew, so that those behind it keep their numbers.
        topic.topic.partitions.resize(id.partition as usize + 1, definition.clone());
        found.topics.insert(owner.topic.clone());
    }
    for name in &found.topics {
        found.facts.push((Fact::Topic(name.clone()), topics.get(name).and_then(encoded)));
    }
    let known: u64 = facts.get(&Fact::Next).and_then(|value| postcard::from_bytes(value).ok()).unwrap_or(1);
    let numbers = topics.values().map(|known| known.number).chain(folders.iter().map(|(id, _)| id.topic));
    // No folder's number is given to another topic.
    let next = numbers.max().map_or(1, |number| number + 1);
    if next > known {
        found.facts.push((Fact::Next, encoded(&next)));
    }
    found
}
