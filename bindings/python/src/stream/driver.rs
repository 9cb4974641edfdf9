//! `thalweg._native.StreamDriver`.

use super::consumer::StreamConsumer;
use super::producer::StreamProducer;
use crate::failure::raised;
use crate::waiting::{guarded, seconds, waiting};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex};
use thalweg::stream::{
    BatchSize, Begin, ConsumerOptions, Driver, Durability, Identity, Ordering, Partition, ProducerOptions,
    Rest, Retention, Topic,
};
use thalweg::{Bytes, Error, Kind, Name, Nanos};

/// rest, folder of the data, interval of durability (0: none, -1: always), age, bytes, acknowledged.
type PartitionTuple = (String, Option<String>, f64, Option<f64>, Option<u64>, bool);

fn partition_of((rest, data, interval_s, age_s, bytes, acknowledged): PartitionTuple) -> Partition {
    let nanos = |seconds: f64| Nanos((seconds * 1e9) as u64);
    Partition {
        rest: match (rest.as_str(), data) {
            ("memory", _) => Rest::Memory,
            ("anywhere", _) => Rest::Anywhere,
            (_, Some(data)) => Rest::Apart { data },
            _ => Rest::Files,
        },
        durability: match interval_s {
            always if always < 0.0 => Durability::Always,
            0.0 => Durability::None,
            interval => Durability::Interval(nanos(interval)),
        },
        retention: Retention { age: age_s.map(nanos), bytes: bytes.map(Bytes), acknowledged },
    }
}

fn tuple_of(partition: &Partition) -> PartitionTuple {
    let seconds = |nanos: Nanos| nanos.0 as f64 * 1e-9;
    let (rest, data) = match &partition.rest {
        Rest::Memory => ("memory", None),
        Rest::Files => ("files", None),
        Rest::Anywhere => ("anywhere", None),
        Rest::Apart { data } => ("apart", Some(data.clone())),
    };
    let interval_s = match partition.durability {
        Durability::None => 0.0,
        Durability::Always => -1.0,
        Durability::Interval(interval) => seconds(interval),
    };
    let Retention { age, bytes, acknowledged } = partition.retention;
    (rest.into(), data, interval_s, age.map(seconds), bytes.map(|bytes| bytes.0), acknowledged)
}

#[pyclass(frozen)]
pub struct StreamDriver {
    driver: Mutex<Option<Arc<Driver>>>,
}

impl StreamDriver {
    fn driver(&self) -> PyResult<Arc<Driver>> {
        let open = guarded(&self.driver, |driver| driver.clone());
        open.ok_or_else(|| raised(Error::new(Kind::Gone, "stream", "the driver has been closed")))
    }
}

fn name_of(operation: &str, name: &str) -> PyResult<Name> {
    Name::new(operation, name).map_err(raised)
}

#[pymethods]
impl StreamDriver {
    #[new]
    #[pyo3(signature = (address, *, name, token, timeout_s))]
    fn new(
        py: Python<'_>,
        address: Option<String>,
        name: &str,
        token: String,
        timeout_s: f64,
    ) -> PyResult<StreamDriver> {
        let within = seconds("stream.connect", timeout_s)?;
        let identity = Identity { name: name_of("stream.connect: client", name)?, token };
        let driver = waiting(py, within, |patience| {
            let address = match address {
                Some(address) => address,
                None => thalweg::embedded()?.address().to_string(),
            };
            Driver::connect(&address, identity, patience)
        })?;
        Ok(StreamDriver { driver: Mutex::new(Some(Arc::new(driver))) })
    }

    #[pyo3(signature = (name, partitions, validator, selector, serializer, timeout_s))]
    fn create(
        &self,
        py: Python<'_>,
        name: &str,
        partitions: Vec<PartitionTuple>,
        validator: String,
        selector: String,
        serializer: String,
        timeout_s: f64,
    ) -> PyResult<()> {
        let (driver, name) = (self.driver()?, name_of("stream.create", name)?);
        let partitions = partitions.into_iter().map(partition_of).collect();
        let topic = Topic { partitions, validator, selector, serializer };
        waiting(py, seconds("stream.create", timeout_s)?, |patience| driver.create(name, topic, patience))
    }

    fn delete(&self, py: Python<'_>, name: &str, timeout_s: f64) -> PyResult<()> {
        let (driver, name) = (self.driver()?, name_of("stream.delete", name)?);
        waiting(py, seconds("stream.delete", timeout_s)?, |patience| driver.delete(name, patience))
    }

    fn topics(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Vec<String>> {
        let driver = self.driver()?;
        let names = waiting(py, seconds("stream.list", timeout_s)?, |patience| driver.topics(patience))?;
        Ok(names.iter().map(ToString::to_string).collect())
    }

    #[allow(clippy::type_complexity)] // as Python sees it
    /// Validator, selector, serializer, and for each partition what it is, its first and its next event.
    fn describe(
        &self,
        py: Python<'_>,
        name: &str,
        timeout_s: f64,
    ) -> PyResult<(String, String, String, Vec<(PartitionTuple, u64, u64)>)> {
        let (driver, name) = (self.driver()?, name_of("stream.describe", name)?);
        let within = seconds("stream.describe", timeout_s)?;
        let (topic, events) = waiting(py, within, |patience| driver.describe(name, patience))?;
        let Topic { partitions, validator, selector, serializer } = topic;
        let partitions = partitions.iter().zip(events);
        let partitions =
            partitions.map(|(partition, events)| (tuple_of(partition), events.start, events.end));
        Ok((validator, selector, serializer, partitions.collect()))
    }

    fn add_partition(
        &self,
        py: Python<'_>,
        name: &str,
        partition: PartitionTuple,
        timeout_s: f64,
    ) -> PyResult<()> {
        let (driver, name) = (self.driver()?, name_of("stream.partition", name)?);
        let partition = partition_of(partition);
        let within = seconds("stream.partition", timeout_s)?;
        waiting(py, within, |patience| driver.add_partition(name, partition, patience))
    }

    /// `batch_size` 0 is adaptive.
    #[pyo3(signature = (topic, *, batch_size, batches, strict, outbox_bytes, timeout_s))]
    fn producer(
        &self,
        py: Python<'_>,
        topic: &str,
        batch_size: u32,
        batches: usize,
        strict: bool,
        outbox_bytes: u64,
        timeout_s: f64,
    ) -> PyResult<StreamProducer> {
        let (driver, topic) = (self.driver()?, name_of("stream.producer", topic)?);
        let within = seconds("stream.producer", timeout_s)?;
        let options = ProducerOptions {
            batch: if batch_size == 0 { BatchSize::Adaptive } else { BatchSize::Fixed(batch_size) },
            batches,
            ordering: if strict { Ordering::Strict } else { Ordering::Loose },
            within,
            outbox: Bytes(outbox_bytes),
        };
        let producer = waiting(py, within, |patience| driver.producer(topic, options, patience))?;
        Ok(StreamProducer::of(producer))
    }

    #[pyo3(signature = (topic, *, name, partitions, first, timeout_s))]
    fn consumer(
        &self,
        py: Python<'_>,
        topic: &str,
        name: &str,
        partitions: Option<Vec<u32>>,
        first: bool,
        timeout_s: f64,
    ) -> PyResult<StreamConsumer> {
        let (driver, topic) = (self.driver()?, name_of("stream.consumer", topic)?);
        let options = ConsumerOptions {
            name: name_of("stream.consumer: name", name)?,
            only: partitions,
            begin: if first { Begin::First } else { Begin::Next },
        };
        let within = seconds("stream.consumer", timeout_s)?;
        let consumer = waiting(py, within, |patience| driver.consumer(topic, options, patience))?;
        Ok(StreamConsumer::of(consumer))
    }

    fn close(&self, py: Python<'_>) {
        let driver = guarded(&self.driver, Option::take);
        py.detach(|| drop(driver));
    }
}
