/* Streams in C: what is pushed comes out as it went in, and what must not be given is refused. */
#include "expect.h"

#include <stdint.h>
#include <stdlib.h>

enum { SINGLE = 500, MANY = 3000, LARGE = 1 << 20, FIRST = 200 };

static const double soon_s = 0.05, timeout_s = 30.0;
static thalweg_stream_driver *driver;
static char *large;

/* Event `number` of the topic: its metadata, and its data, which begin at `*data`. */
static size_t metadata_of(uint64_t number, char *into) { return (size_t)sprintf(into, "{\"n\": %u}", (unsigned)number); }

static size_t data_of(uint64_t number, const char **data) {
  *data = large + number % 97;
  return number == SINGLE + MANY ? LARGE : number < SINGLE ? number % 40 : 16;
}

static void produce(const char *topic) {
  thalweg_producer *producer;
  thalweg_pushed *one, *many;
  char text[64];
  const char *data;
  uint64_t offset = 99;
  int32_t done = 0;
  OK(thalweg_producer_open(driver, topic, NULL, timeout_s, &producer));
  for (uint64_t n = 0; n < SINGLE; ++n) {
    /* In two parts, which are laid one behind the other. */
    size_t size = data_of(n, &data), half = size / 2;
    const thalweg_segment parts[] = {{data, half}, {data + half, size - half}};
    OK(thalweg_producer_push(producer, 0, text, metadata_of(n, text), parts, 2, timeout_s,
                             n == SINGLE - 1 ? &one : NULL));
  }
  OK(thalweg_pushed_wait(one, 0, timeout_s, &offset));
  TRUE(offset == SINGLE - 1);
  EXPECT(THALWEG_INVALID, "index 1 of 1 events", thalweg_pushed_wait(one, 1, timeout_s, &offset));
  OK(thalweg_pushed_release(one));

  static char texts[MANY * 32], bytes[MANY * 16];
  static uint64_t text_ends[MANY], data_ends[MANY];
  for (uint64_t n = 0, at = 0; n < MANY; ++n) {
    at += metadata_of(SINGLE + n, texts + at);
    text_ends[n] = at;
    memcpy(bytes + n * 16, (data_of(SINGLE + n, &data), data), 16);
    data_ends[n] = (n + 1) * 16;
  }
  const thalweg_column metadata = {texts, sizeof texts, text_ends, MANY}, column = {bytes, sizeof bytes, data_ends, MANY};
  OK(thalweg_producer_push_many(producer, 0, &metadata, &column, timeout_s, &many));
  OK(thalweg_pushed_wait(many, MANY - 1, timeout_s, &offset));
  TRUE(offset == SINGLE + MANY - 1);
  OK(thalweg_pushed_done(many, &done));
  TRUE(done == 1);
  OK(thalweg_pushed_release(many));

  const thalweg_segment whole = {(data_of(SINGLE + MANY, &data), data), LARGE};
  OK(thalweg_producer_push(producer, 0, text, metadata_of(SINGLE + MANY, text), &whole, 1, timeout_s, NULL));
  OK(thalweg_producer_flush(producer, timeout_s));

  EXPECT(THALWEG_INVALID, "partition 7", thalweg_producer_push(producer, 7, "x", 1, NULL, 0, timeout_s, NULL));
  EXPECT(THALWEG_INVALID, "stream.push: metadata is NULL, and has 3 bytes",
         thalweg_producer_push(producer, 0, NULL, 3, NULL, 0, timeout_s, NULL));
  EXPECT(THALWEG_INVALID, "stream.push: producer is NULL",
         thalweg_producer_push(NULL, 0, "x", 1, NULL, 0, timeout_s, NULL));
  EXPECT(THALWEG_INVALID, "metadata is NULL",
         thalweg_producer_push_many(producer, 0, NULL, NULL, timeout_s, NULL));
  const thalweg_column fewer = {bytes, sizeof bytes, data_ends, MANY - 1};
  EXPECT(THALWEG_INVALID, "3000 metadata and 2999 data; accepted are as many",
         thalweg_producer_push_many(producer, 0, &metadata, &fewer, timeout_s, NULL));
  const thalweg_column outside = {texts, 10, text_ends, MANY};
  EXPECT(THALWEG_INVALID, "the ends do not ascend within 10 bytes",
         thalweg_producer_push_many(producer, 0, &outside, NULL, timeout_s, NULL));
  OK(thalweg_producer_close(producer, timeout_s));
  EXPECT(THALWEG_INVALID, "producer 0x", thalweg_producer_flush(producer, timeout_s));
  OK(thalweg_producer_close(NULL, timeout_s));
}

/* Pulls events from number `next` on until `end`, each as it was pushed; acknowledges them. */
static void consume(const char *topic, uint64_t next, uint64_t end) {
  thalweg_consumer_options options = THALWEG_CONSUMER_OPTIONS_INIT;
  thalweg_consumer *consumer;
  thalweg_events *events;
  options.name = "checker";
  OK(thalweg_consumer_open(driver, topic, &options, timeout_s, &consumer));
  char text[64], *copy = malloc(LARGE);
  for (const int before = failures; next < end && failures == before;) {
    thalweg_events_info info = THALWEG_EVENTS_INFO_INIT;
    thalweg_column column;
    const void *metadata, *here;
    const char *data;
    size_t metadata_bytes;
    uint64_t bytes, *ends;
    const uint32_t most = end - next < 700 ? (uint32_t)(end - next) : 700;
    OK(thalweg_consumer_pull(consumer, most, timeout_s, &events));
    OK(thalweg_events_describe(events, &info));
    TRUE(info.partition == 0 && info.first == next && info.count >= 1 && info.count <= most && info.time_s > 1.7e9);
    ends = malloc(info.count * sizeof *ends);
    OK(thalweg_events_metadata_column(events, ends, &column));
    TRUE(column.ends == ends && column.count == info.count && column.size_bytes == ends[info.count - 1]);
    for (uint32_t i = 0; i < info.count; ++i, ++next) {
      const size_t length = metadata_of(next, text), size = data_of(next, &data);
      OK(thalweg_events_metadata(events, i, &metadata, &metadata_bytes));
      TRUE(metadata_bytes == length && memcmp(metadata, text, length) == 0);
      TRUE(memcmp((const char *)column.bytes + ends[i] - length, text, length) == 0);
      OK(thalweg_events_data(events, i, &here, &bytes));
      TRUE(bytes == size && (here == NULL) == (info.apart != 0));
      TRUE(here == NULL || memcmp(here, data, size) == 0);
      OK(thalweg_consumer_read_data(consumer, events, i, 0, size, copy, timeout_s));
      TRUE(memcmp(copy, data, size) == 0);
      if (size > 10) {
        OK(thalweg_consumer_read_data(consumer, events, i, 3, size - 5, copy, timeout_s));
        TRUE(memcmp(copy, data + 3, size - 8) == 0);
      }
      EXPECT(THALWEG_INVALID, "bytes 0 to", thalweg_consumer_read_data(consumer, events, i, 0, size + 1, copy, timeout_s));
    }
    EXPECT(THALWEG_INVALID, "index ", thalweg_events_metadata(events, (uint32_t)info.count, &metadata, &metadata_bytes));
    OK(thalweg_consumer_acknowledge(consumer, 0, next));
    OK(thalweg_events_release(events));
    EXPECT(THALWEG_INVALID, "events 0x", thalweg_events_release(events));
    free(ends);
  }
  free(copy);
  OK(thalweg_consumer_close(consumer, timeout_s));
  EXPECT(THALWEG_INVALID, "consumer 0x", thalweg_consumer_pull(consumer, 1, timeout_s, &events));
}

static void seek(const char *topic) {
  thalweg_consumer_options options = THALWEG_CONSUMER_OPTIONS_INIT;
  thalweg_consumer *consumer;
  thalweg_events *events = NULL;
  thalweg_events_info info = THALWEG_EVENTS_INFO_INIT;
  thalweg_position position;
  size_t count = 0;
  const uint64_t end = SINGLE + MANY + 1;
  options.name = "checker";
  OK(thalweg_consumer_open(driver, topic, &options, timeout_s, &consumer));
  OK(thalweg_consumer_positions(consumer, timeout_s, &position, 1, &count));
  TRUE(count == 1 && position.acknowledged == end && position.next == end && position.first == 0 && position.end == end);
  EXPECT(THALWEG_TIMEOUT, "no event came within", thalweg_consumer_pull(consumer, 10, soon_s, &events));
  OK(thalweg_consumer_seek(consumer, 0, 1234, timeout_s));
  OK(thalweg_consumer_pull(consumer, 1, timeout_s, &events));
  OK(thalweg_events_describe(events, &info));
  TRUE(info.first == 1234 && info.count == 1);
  OK(thalweg_events_release(events));
  OK(thalweg_consumer_seek_time(consumer, 0, 0.0, timeout_s));
  OK(thalweg_consumer_pull(consumer, 1, timeout_s, &events));
  OK(thalweg_events_describe(events, &info));
  TRUE(info.first == 0);
  OK(thalweg_events_release(events));
  EXPECT(THALWEG_INVALID, "event 99999 of partition 0; accepted are 0 to 3501",
         thalweg_consumer_seek(consumer, 0, 99999, timeout_s));
  EXPECT(THALWEG_INVALID, "partition 5, which this consumer does not hold",
         thalweg_consumer_seek(consumer, 5, 0, timeout_s));
  EXPECT(THALWEG_INVALID, "time_s = -1", thalweg_consumer_seek_time(consumer, 0, -1, timeout_s));
  EXPECT(THALWEG_INVALID, "most = 0", thalweg_consumer_pull(consumer, 0, timeout_s, &events));
  EXPECT(THALWEG_INVALID, "timeout_s = -1", thalweg_consumer_pull(consumer, 1, -1, &events));
  EXPECT(THALWEG_INVALID, "stream.pull: events is NULL", thalweg_consumer_pull(consumer, 1, timeout_s, NULL));
  EXPECT(THALWEG_INVALID, "count is NULL", thalweg_consumer_positions(consumer, timeout_s, &position, 1, NULL));
  OK(thalweg_consumer_close(consumer, timeout_s));
}

static void topics(const char *name) {
  thalweg_partition partition = THALWEG_PARTITION_INIT;
  thalweg_rules rules = THALWEG_RULES_INIT;
  thalweg_topic *topic;
  thalweg_names *names;
  thalweg_producer *producer;
  thalweg_consumer *consumer;
  uint64_t first, next;
  EXPECT(THALWEG_INVALID, "stream.create: topic_name is NULL", thalweg_topic_create(driver, NULL, 1, NULL, NULL, timeout_s));
  EXPECT(THALWEG_INVALID, "stream.create: driver is NULL", thalweg_topic_create(NULL, name, 1, NULL, NULL, timeout_s));
  EXPECT(THALWEG_INVALID, "0 partitions; accepted are 1 to 4096",
         thalweg_topic_create(driver, name, 0, NULL, NULL, timeout_s));
  EXPECT(THALWEG_INVALID, "4294967295 partitions; accepted are 1 to 4096",
         thalweg_topic_create(driver, name, UINT32_MAX, NULL, NULL, timeout_s));
  partition.rest = 8;
  EXPECT(THALWEG_INVALID, "partition.rest = 8; accepted are",
         thalweg_topic_create(driver, name, 1, &partition, NULL, timeout_s));
  partition.rest = THALWEG_REST_APART;
  EXPECT(THALWEG_INVALID, "partition.data_folder is NULL",
         thalweg_topic_create(driver, name, 1, &partition, NULL, timeout_s));
  partition.rest = THALWEG_REST_MEMORY;
  partition.durability = 4;
  EXPECT(THALWEG_INVALID, "partition.durability = 4; accepted are",
         thalweg_topic_create(driver, name, 1, &partition, NULL, timeout_s));
  partition.durability = THALWEG_DURABILITY_ALWAYS;
  EXPECT(THALWEG_INVALID, "a partition in memory with durability",
         thalweg_topic_create(driver, name, 1, &partition, NULL, timeout_s));
  partition.durability = THALWEG_DURABILITY_NONE;
  partition.size = 3;
  EXPECT(THALWEG_INVALID, "partition.size = 3; initialise it with THALWEG_PARTITION_INIT",
         thalweg_topic_create(driver, name, 1, &partition, NULL, timeout_s));
  EXPECT(THALWEG_NOT_FOUND, "\"nothing\"", thalweg_producer_open(driver, "nothing", NULL, timeout_s, &producer));
  EXPECT(THALWEG_NOT_FOUND, "\"nothing\"", thalweg_consumer_open(driver, "nothing", NULL, timeout_s, &consumer));
  EXPECT(THALWEG_NOT_FOUND, "\"nothing\"", thalweg_topic_describe(driver, "nothing", timeout_s, &topic));
  EXPECT(THALWEG_NOT_FOUND, "\"nothing\"", thalweg_topic_delete(driver, "nothing", timeout_s));

  partition = (thalweg_partition)THALWEG_PARTITION_INIT;
  partition.rest = THALWEG_REST_FILES;
  partition.durability = THALWEG_DURABILITY_INTERVAL;
  partition.interval_s = 0.25;
  partition.max_age_s = 3600;
  partition.max_size_bytes = UINT64_C(1) << 40;
  OK(thalweg_topic_create(driver, name, 1, &partition, NULL, timeout_s));
  EXPECT(THALWEG_EXISTS, name, thalweg_topic_create(driver, name, 1, NULL, NULL, timeout_s));
  OK(thalweg_topics(driver, timeout_s, &names));
  int listed = 0;
  for (size_t i = 0; i < thalweg_names_count(names); ++i) listed += strcmp(thalweg_names_at(names, i), name) == 0;
  TRUE(listed == 1);
  OK(thalweg_names_release(names));
  OK(thalweg_topic_add_partition(driver, name, NULL, timeout_s));
  OK(thalweg_topic_describe(driver, name, timeout_s, &topic));
  TRUE(thalweg_topic_partition_count(topic) == 2);
  thalweg_partition told = THALWEG_PARTITION_INIT;
  OK(thalweg_topic_partition(topic, 0, &told, &first, &next));
  TRUE(told.rest == THALWEG_REST_FILES && told.durability == THALWEG_DURABILITY_INTERVAL && told.interval_s == 0.25);
  TRUE(told.max_age_s == 3600 && told.max_size_bytes == UINT64_C(1) << 40 && told.drop_acknowledged == 0);
  TRUE(told.data_folder == NULL && first == 0 && next == 0);
  OK(thalweg_topic_partition(topic, 1, &told, NULL, NULL));
  TRUE(told.rest == THALWEG_REST_MEMORY && told.max_age_s == 0);
  EXPECT(THALWEG_INVALID, "partition 2 of 2", thalweg_topic_partition(topic, 2, &told, &first, &next));
  OK(thalweg_topic_rules(topic, &rules));
  TRUE(strcmp(rules.validator, "null") == 0 && strcmp(rules.selector, "\"round_robin\"") == 0);
  TRUE(strcmp(rules.serializer, "\"json\"") == 0);
  OK(thalweg_topic_release(topic));
  EXPECT(THALWEG_INVALID, "topic 0x", thalweg_topic_release(topic));
  OK(thalweg_topic_delete(driver, name, timeout_s));
  EXPECT(THALWEG_NOT_FOUND, name, thalweg_topic_delete(driver, name, timeout_s));
}

/* The same events in a topic that rests so. */
static void there_and_back(const char *topic, uint32_t rest, const char *folder) {
  thalweg_partition partition = THALWEG_PARTITION_INIT;
  partition.rest = rest;
  partition.data_folder = folder;
  OK(thalweg_topic_create(driver, topic, 1, &partition, NULL, timeout_s));
  produce(topic);
  consume(topic, 0, FIRST);
  consume(topic, FIRST, SINGLE + MANY + 1); /* the name goes on where it was */
  seek(topic);
  OK(thalweg_topic_delete(driver, topic, timeout_s));
}

/* streams FOLDER: to the server at THALWEG_ADDRESS; data apart come to FOLDER. */
int main(int count, char **words) {
  thalweg_connect_options options = THALWEG_CONNECT_OPTIONS_INIT;
  if (count != 2) return 2;
  EXPECT(THALWEG_INVALID, "stream.connect: driver is NULL", thalweg_stream_connect(NULL, NULL));
  options.name_space = "runs";
  EXPECT(THALWEG_INVALID, "topics have no namespaces", thalweg_stream_connect(&options, &driver));
  options.name_space = NULL;
  options.addresses = "unix:@thalweg-nobody-serves-here";
  options.timeout_s = soon_s;
  EXPECT(THALWEG_GONE, "@thalweg-nobody-serves-here", thalweg_stream_connect(&options, &driver));
  options.addresses = "ftp:x";
  EXPECT(THALWEG_INVALID, "accepted are unix:NAME and tcp:HOST:PORT", thalweg_stream_connect(&options, &driver));
  OK(thalweg_stream_connect(NULL, &driver));

  large = malloc(LARGE + 97);
  for (size_t i = 0; i < LARGE + 97; ++i) large[i] = (char)(i * 2654435761u >> 13);
  topics("c-topics");
  there_and_back("c-memory", THALWEG_REST_MEMORY, NULL);
  there_and_back("c-files", THALWEG_REST_FILES, NULL);
  there_and_back("c-apart", THALWEG_REST_APART, words[1]);
  free(large);
  OK(thalweg_stream_disconnect(driver));
  EXPECT(THALWEG_INVALID, "driver 0x", thalweg_stream_disconnect(driver));
  puts(failures > 0 ? "failed" : "OK");
  return failures > 0;
}
