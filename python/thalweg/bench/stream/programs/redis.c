/* Redis streams through hiredis: pipelined XADD, XREAD of many entries; a partition is a stream. */
#include <hiredis/hiredis.h>

#include "side.h"

enum { UNDER_WAY = 4 };

static char keys[MOST_PARTITIONS][128], seen[MOST_PARTITIONS][64];

static redisContext *connected(void) {
    struct timeval wait = {TIMEOUT_S, 0};
    redisContext *made = redisConnectUnixWithTimeout(order.address, wait);
    if (!made || made->err) FAIL("%s: %s", order.address, made ? made->errstr : "no memory");
    redisSetTimeout(made, wait);
    for (long i = 0; i < order.partitions; i++) {
        snprintf(keys[i], sizeof keys[i], "%s:%ld", order.topic, i);
        strcpy(seen[i], "0-0");
    }
    return made;
}

static redisReply *reply_of(redisContext *server) {
    redisReply *reply;
    if (redisGetReply(server, (void **)&reply) != REDIS_OK) FAIL("%s", server->errstr);
    if (reply->type == REDIS_REPLY_ERROR) FAIL("%s", reply->str);
    return reply;
}

static void add(redisContext *server, long partition, const char *own) {
    const char *words[] = {"XADD", keys[partition], "*", "m", own, "d", data_};
    const size_t sizes[] = {4, strlen(keys[partition]), 1, 1, order.event_bytes, 1, order.data_bytes};
    redisAppendCommandArgv(server, order.data_bytes ? 7 : 5, words, sizes);
}

static void take_replies(redisContext *server, long count) {
    while (count-- > 0) freeReplyObject(reply_of(server));
}

static void send_all(redisContext *server) {
    for (int sent = 0; !sent;)
        if (redisBufferWrite(server, &sent) != REDIS_OK) FAIL("%s", server->errstr);
}

static void produce(redisContext *server) {
    long waiting[UNDER_WAY] = {0};
    begin();
    if (is_role("push"))
        for (long i = 0; i < order.events; i++) {
            add(server, 0, tick(i));
            take_replies(server, 1);
            pushed_since(ticked);
        }
    else
        for (long done = 0, turn = 0; done < order.events; done += order.batch, turn++) {
            long left = order.events - done, count = left < order.batch ? left : order.batch;
            take_replies(server, waiting[turn % UNDER_WAY]);
            for (long i = 0; i < count; i++) add(server, turn % order.partitions, event(i));
            send_all(server);
            waiting[turn % UNDER_WAY] = count;
            progress(done + order.batch);
        }
    for (int i = 0; i < UNDER_WAY; i++) take_replies(server, waiting[i]);
    end();
}

static void ask(redisContext *server) {
    char most[24];
    const char *words[8 + 2 * MOST_PARTITIONS] = {"XREAD", "COUNT", most, "BLOCK", "1000", "STREAMS"};
    int count = 6;
    snprintf(most, sizeof most, "%ld", order.batch);
    for (long i = 0; i < order.partitions; i++) words[count++] = keys[i];
    for (long i = 0; i < order.partitions; i++) words[count++] = seen[i];
    redisAppendCommandArgv(server, count, words, NULL);
}

static void take_stream(const redisReply *stream) {
    const redisReply *entries = stream->element[1];
    long partition = atol(strrchr(stream->element[0]->str, ':') + 1);
    for (size_t i = 0; i < entries->elements; i++) {
        redisReply **fields = entries->element[i]->element[1]->element;
        bool data = order.data_bytes > 0;
        arrive(partition, fields[1]->str, fields[1]->len, data ? fields[3]->str : NULL, data ? fields[3]->len : 0);
    }
    const redisReply *last = entries->element[entries->elements - 1]->element[0];
    memcpy(seen[partition], last->str, last->len + 1);
}

static void consume(redisContext *server) {
    begin();
    while (done_ < order.events) {
        ask(server);
        redisReply *reply = reply_of(server);
        if (reply->type == REDIS_REPLY_NIL) nothing_came();
        for (size_t i = 0; i < reply->elements; i++) take_stream(reply->element[i]);
        freeReplyObject(reply);
    }
    end();
}

int main(int count, char **given) {
    read_order(count, given);
    redisContext *server = connected();
    if (is_role("produce") || is_role("push"))
        produce(server);
    else
        consume(server);
    redisFree(server);
    return 0;
}
