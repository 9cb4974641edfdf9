/* What the native programs share: the order, the protocol with the benchmark, stamped events, checks of what arrives.
 *
 * PROGRAM produce|consume|push|pull ADDRESS TOPIC EVENTS EVENT_BYTES DATA_BYTES PARTITIONS BATCH none|always RATE
 * says "ready" when it is connected, begins at a line of input, says one JSON object at its end. */
#ifndef THALWEG_BENCH_SIDE_H
#define THALWEG_BENCH_SIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PARTS = 100, MOST_PARTITIONS = 1024, TIMEOUT_S = 60 };

typedef struct {
    const char *role, *address, *topic;
    long events, event_bytes, data_bytes, partitions, batch, rate;
    bool always, prompt;
} order_t;

static order_t order;
static char *events_, *data_;                            /* a batch of events; the data that each of them has */
static int64_t stamps[PARTS + 8], *latencies, cpu_begin, ticked, pushing; /* nanoseconds */
static long stamped, step, next_stamp, done_, arrived[MOST_PARTITIONS];

#define FAIL(...) (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(1))

static int64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static bool is_role(const char *role) { return strcmp(order.role, role) == 0; }

static char *event(long number) { return events_ + number % order.batch * order.event_bytes; }

static char *bytes(long count, long size) {
    char *made = malloc(count * size + 1);
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (long i = 0; i < count * size; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        made[i] = (char)(state >> 32);
    }
    for (int64_t i = 0; i < count && size; i++) memcpy(made + i * size, &i, sizeof i);
    return made;
}

static void read_order(int count, char **words) {
    if (count != 11) FAIL("expected 10 words, got %d", count - 1);
    order = (order_t){words[1], words[2], words[3], atol(words[4]), atol(words[5]), atol(words[6]), atol(words[7]),
                      atol(words[8]), atol(words[10]), strcmp(words[9], "always") == 0, false};
    order.prompt = is_role("push") || is_role("pull");
    if (order.partitions > MOST_PARTITIONS) FAIL("%ld partitions; at most %d", order.partitions, MOST_PARTITIONS);
    events_ = bytes(order.batch, order.event_bytes);
    data_ = bytes(1, order.data_bytes);
    latencies = malloc((order.events + 1) * sizeof *latencies);
}

static void stamp(void) { stamps[stamped++] = clock_ns(CLOCK_MONOTONIC); }

static void begin(void) {
    char line[8];
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) exit(1);
    next_stamp = step = order.events / PARTS > 0 ? order.events / PARTS : 1;
    cpu_begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    stamp();
}

/* So many events are done in all. */
static void progress(long done) {
    if (done >= next_stamp && stamped < PARTS + 4) {
        stamp();
        next_stamp = done + step;
    }
}

static void list(const char *name, const int64_t *values, long count) {
    printf("\"%s\": [", name);
    for (long i = 0; i < count; i++) printf("%s%lld", i ? "," : "", (long long)values[i]);
    printf("]");
}

static void end(void) {
    stamp();
    printf("{\"cpu_s\": %.9f, ", (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin) / 1e9);
    printf("\"pushing_s\": %.9f, ", is_role("push") ? pushing / 1e9 : 0);
    list("stamps_ns", stamps, stamped);
    printf(", ");
    list("latencies_ns", latencies, is_role("pull") ? done_ : 0);
    puts("}");
    fflush(stdout);
}

/* Wait for the tick of an event of `push`; the event, with the time in it. */
static char *tick(long number) {
    int64_t at = stamps[0] + number * (INT64_C(1000000000) / order.rate);
    struct timespec until = {at / 1000000000, at % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    ticked = clock_ns(CLOCK_MONOTONIC);
    memcpy(events_, &ticked, sizeof ticked);
    return events_;
}

/* A push, or the flush at the end, has returned. */
static void pushed_since(int64_t began) { pushing += clock_ns(CLOCK_MONOTONIC) - began; }

/* An event has arrived: it must be the one whose turn it is in its partition. */
static void arrive(long partition, const char *got, long size, const char *data, long data_size) {
    int64_t number;
    if (size != order.event_bytes || data_size != order.data_bytes)
        FAIL("an event of %ld + %ld bytes arrived; expected %ld + %ld", size, data_size, order.event_bytes,
             order.data_bytes);
    memcpy(&number, got, sizeof number);
    if (order.prompt) {
        latencies[done_++] = clock_ns(CLOCK_MONOTONIC) - number;
        return;
    }
    if (number != arrived[partition] % order.batch)
        FAIL("event %ld of partition %ld arrived with the stamp %lld", arrived[partition], partition, (long long)number);
    if (data_size && (memcmp(data, data_, 8) || data[data_size - 1] != data_[data_size - 1]))
        FAIL("the data of event %ld differ", done_);
    arrived[partition]++;
    progress(++done_);
}

/* Called when nothing came: ends the wait some time. */
static inline void nothing_came(void) {
    static long before;
    static int64_t since;
    int64_t now = clock_ns(CLOCK_MONOTONIC);
    if (!since || done_ != before) before = done_, since = now;
    if (now - since > TIMEOUT_S * INT64_C(1000000000))
        FAIL("%ld of %ld events came, then none within %d s", done_, order.events, TIMEOUT_S);
}

#endif
