/* Thalweg through its C library: batches in, as many events as there are out. */
#include <thalweg.h>

#include "side.h"

enum { PIECE = 10000 };

static void done(thalweg_status status) {
    if (status != THALWEG_OK) FAIL("%s", thalweg_last_error());
}

static thalweg_stream_driver *driver(void) {
    thalweg_connect_options options = THALWEG_CONNECT_OPTIONS_INIT;
    thalweg_stream_driver *made;
    options.addresses = order.address;
    options.name = "bench";
    options.timeout_s = TIMEOUT_S;
    done(thalweg_stream_connect(&options, &made));
    return made;
}

static void push_one(thalweg_producer *producer, long partition, const char *own) {
    const thalweg_segment data = {data_, order.data_bytes};
    done(thalweg_producer_push(producer, partition, own, order.event_bytes, &data, order.data_bytes ? 1 : 0, TIMEOUT_S,
                               NULL));
}

/* Small events are handed over together, those with data one by one: the data are the same for all of them. */
static void push_batch(thalweg_producer *producer, long partition, long first, long count) {
    static uint64_t *ends;
    if (order.data_bytes) {
        for (long i = first; i < first + count; i++) push_one(producer, partition, event(i));
        return;
    }
    if (!ends) {
        ends = malloc(order.batch * sizeof *ends);
        for (long i = 0; i < order.batch; i++) ends[i] = (i + 1) * order.event_bytes;
    }
    const thalweg_column metadata = {event(first), count * order.event_bytes, ends, count};
    done(thalweg_producer_push_many(producer, partition, &metadata, NULL, TIMEOUT_S, NULL));
}

static void produce(thalweg_stream_driver *driver) {
    thalweg_producer_options options = THALWEG_PRODUCER_OPTIONS_INIT;
    thalweg_producer *producer;
    options.batch_size = order.prompt ? 1 : 0;
    options.timeout_s = TIMEOUT_S;
    done(thalweg_producer_open(driver, order.topic, &options, TIMEOUT_S, &producer));
    begin();
    if (is_role("push"))
        for (long i = 0; i < order.events; i++) {
            push_one(producer, 0, tick(i));
            pushed_since(ticked);
        }
    else
        for (long first = 0, turn = 0; first < order.events; first += order.batch, turn++) {
            long left = order.events - first;
            push_batch(producer, turn % order.partitions, first, left < order.batch ? left : order.batch);
            progress(first + order.batch);
        }
    int64_t before = clock_ns(CLOCK_MONOTONIC);
    done(thalweg_producer_flush(producer, TIMEOUT_S));
    pushed_since(before);
    end();
    done(thalweg_producer_close(producer, TIMEOUT_S));
}

static void arrived_in(thalweg_consumer *consumer, thalweg_events *events) {
    static char *copy;
    static uint64_t ends[PIECE];
    thalweg_events_info info = THALWEG_EVENTS_INFO_INIT;
    thalweg_column metadata;
    if (!copy) copy = malloc(order.data_bytes + 1);
    done(thalweg_events_describe(events, &info));
    done(thalweg_events_metadata_column(events, ends, &metadata));
    for (size_t i = 0, begins = 0; i < info.count; begins = ends[i++]) {
        const void *data = NULL;
        uint64_t data_bytes = 0;
        if (order.data_bytes) done(thalweg_events_data(events, i, &data, &data_bytes));
        if (info.apart && data_bytes == (uint64_t)order.data_bytes) {
            done(thalweg_consumer_read_data(consumer, events, i, 0, data_bytes, copy, TIMEOUT_S));
            data = copy;
        }
        arrive(info.partition, (const char *)metadata.bytes + begins, ends[i] - begins, data, data_bytes);
    }
}

static void consume(thalweg_stream_driver *driver) {
    thalweg_consumer_options options = THALWEG_CONSUMER_OPTIONS_INIT;
    thalweg_consumer *consumer;
    thalweg_events *events;
    options.name = "bench";
    done(thalweg_consumer_open(driver, order.topic, &options, TIMEOUT_S, &consumer));
    begin();
    while (done_ < order.events) {
        thalweg_status status = thalweg_consumer_pull(consumer, order.prompt ? 1 : PIECE, 0.1, &events);
        if (status == THALWEG_TIMEOUT) {
            nothing_came();
            continue;
        }
        done(status);
        arrived_in(consumer, events);
        done(thalweg_events_release(events));
    }
    end();
    done(thalweg_consumer_close(consumer, TIMEOUT_S));
}

int main(int count, char **given) {
    read_order(count, given);
    thalweg_stream_driver *connected = driver();
    if (is_role("produce") || is_role("push"))
        produce(connected);
    else
        consume(connected);
    done(thalweg_stream_disconnect(connected));
    return 0;
}
