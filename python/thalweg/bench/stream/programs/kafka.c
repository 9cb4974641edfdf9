/* Kafka through librdkafka: batches of messages in, batches of messages out. */
#include <librdkafka/rdkafka.h>

#include "side.h"

enum { PIECE = 10000 };

static char words[512];

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
    if (rd_kafka_conf_set(conf, name, value, words, sizeof words) != RD_KAFKA_CONF_OK) FAIL("%s", words);
}

static rd_kafka_t *client(rd_kafka_type_t type) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", order.address);
    set(conf, "socket.nagle.disable", "true");
    set(conf, "message.max.bytes", "64000000");
    if (type == RD_KAFKA_PRODUCER) {
        set(conf, "acks", order.always ? "all" : "1");
        set(conf, "linger.ms", order.prompt ? "0" : "5");
        set(conf, "batch.size", "1000000");
        set(conf, "queue.buffering.max.messages", "1000000");
        set(conf, "queue.buffering.max.kbytes", "1000000");
    } else {
        set(conf, "group.id", order.topic);
        set(conf, "enable.auto.commit", "false");
        set(conf, "fetch.max.bytes", "64000000");
        set(conf, "max.partition.fetch.bytes", "16000000");
        set(conf, "receive.message.max.bytes", "128000000");
        set(conf, "queued.min.messages", "1000000");
        set(conf, "queued.max.messages.kbytes", "1000000");
    }
    rd_kafka_t *made = rd_kafka_new(type, conf, words, sizeof words);
    if (!made) FAIL("%s", words);
    for (long partition = 0; partition < order.partitions; partition++) {
        int64_t low, high;
        rd_kafka_resp_err_t error =
            rd_kafka_query_watermark_offsets(made, order.topic, partition, &low, &high, TIMEOUT_S * 1000);
        if (error) FAIL("%s", rd_kafka_err2str(error));
    }
    return made;
}

static void produce_batch(rd_kafka_topic_t *topic, long partition, rd_kafka_message_t *messages, int count) {
    /* Data lie still, so they need no copy; a small event is copied. With a key the payload's flag goes for it alone. */
    int flags = order.data_bytes ? 0 : RD_KAFKA_MSG_F_COPY;
    for (int i = 0; i < count; i++) {
        char *own = event(i);
        messages[i] = (rd_kafka_message_t){.payload = order.data_bytes ? data_ : own,
                                           .len = order.data_bytes ? order.data_bytes : order.event_bytes,
                                           .key = order.data_bytes ? own : NULL,
                                           .key_len = order.data_bytes ? order.event_bytes : 0};
    }
    if (rd_kafka_produce_batch(topic, partition, flags | RD_KAFKA_MSG_F_BLOCK, messages, count) != count)
        for (int i = 0; i < count; i++)
            if (messages[i].err) FAIL("%s", rd_kafka_err2str(messages[i].err));
}

static void produce(void) {
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, order.topic, NULL);
    rd_kafka_message_t *messages = calloc(order.batch, sizeof *messages);
    begin();
    if (is_role("push"))
        for (long i = 0; i < order.events; i++) {
            tick(i);
            produce_batch(topic, 0, messages, 1);
            pushed_since(ticked);
        }
    else
        for (long done = 0, turn = 0; done < order.events; done += order.batch, turn++) {
            long left = order.events - done;
            produce_batch(topic, turn % order.partitions, messages, left < order.batch ? left : order.batch);
            progress(done + order.batch);
        }
    int64_t before = clock_ns(CLOCK_MONOTONIC);
    if (rd_kafka_flush(producer, TIMEOUT_S * 1000)) FAIL("events were not acknowledged within %d s", TIMEOUT_S);
    pushed_since(before);
    end();
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(producer);
}

static void consume(void) {
    rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER);
    rd_kafka_message_t **messages = malloc(PIECE * sizeof *messages);
    rd_kafka_poll_set_consumer(consumer);
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(consumer);
    rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(order.partitions);
    for (long i = 0; i < order.partitions; i++)
        rd_kafka_topic_partition_list_add(all, order.topic, i)->offset = 0;
    if (order.prompt) rd_kafka_assign(consumer, all);
    begin();
    if (!order.prompt) rd_kafka_assign(consumer, all);
    while (done_ < order.events) {
        ssize_t count = rd_kafka_consume_batch_queue(queue, 100, messages, order.prompt ? 1 : PIECE);
        for (ssize_t i = 0; i < count; i++) {
            rd_kafka_message_t *got = messages[i];
            if (got->err) FAIL("%s", rd_kafka_message_errstr(got));
            if (order.data_bytes)
                arrive(got->partition, got->key, got->key_len, got->payload, got->len);
            else
                arrive(got->partition, got->payload, got->len, NULL, 0);
            rd_kafka_message_destroy(got);
        }
        if (count <= 0) nothing_came();
    }
    end();
    rd_kafka_topic_partition_list_destroy(all);
    rd_kafka_queue_destroy(queue);
    rd_kafka_consumer_close(consumer);
    rd_kafka_destroy(consumer);
}

int main(int count, char **given) {
    read_order(count, given);
    if (is_role("produce") || is_role("push"))
        produce();
    else
        consume();
    return 0;
}
