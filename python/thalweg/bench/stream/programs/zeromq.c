/* ZeroMQ: PUSH to PULL over a Unix socket; nothing is kept. */
#include <zmq.h>

#include "side.h"

enum { WATERMARK = 100000 };

static void *connected(void *context, int kind, int (*join)(void *, const char *)) {
    int watermark = order.data_bytes ? 16 : WATERMARK, wait_ms = TIMEOUT_S * 1000;
    void *made = zmq_socket(context, kind);
    zmq_setsockopt(made, ZMQ_SNDHWM, &watermark, sizeof watermark);
    zmq_setsockopt(made, ZMQ_RCVHWM, &watermark, sizeof watermark);
    zmq_setsockopt(made, ZMQ_SNDTIMEO, &wait_ms, sizeof wait_ms);
    zmq_setsockopt(made, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms);
    if (join(made, order.address)) FAIL("%s: %s", order.address, zmq_strerror(zmq_errno()));
    return made;
}

static void send_event(void *socket, const char *own) {
    bool sent = zmq_send(socket, own, order.event_bytes, order.data_bytes ? ZMQ_SNDMORE : 0) >= 0;
    if (sent && order.data_bytes) {
        zmq_msg_t message; /* data that lie still are not copied */
        zmq_msg_init_data(&message, data_, order.data_bytes, NULL, NULL);
        sent = zmq_msg_send(&message, socket, 0) >= 0;
    }
    if (!sent) FAIL("send: %s", zmq_strerror(zmq_errno()));
}

static void produce(void *context) {
    void *socket = connected(context, ZMQ_PUSH, zmq_connect);
    begin();
    for (long i = 0; i < order.events; i++) {
        send_event(socket, order.prompt ? tick(i) : event(i));
        if (order.prompt)
            pushed_since(ticked);
        else
            progress(i + 1);
    }
    int64_t before = clock_ns(CLOCK_MONOTONIC);
    zmq_close(socket);
    zmq_ctx_term(context); /* returns when all is sent */
    pushed_since(before);
    end();
}

static void consume(void *context) {
    void *socket = connected(context, ZMQ_PULL, zmq_bind);
    zmq_msg_t own, data;
    zmq_msg_init(&own);
    zmq_msg_init(&data);
    begin();
    while (done_ < order.events) {
        if (zmq_msg_recv(&own, socket, 0) < 0 || (order.data_bytes && zmq_msg_recv(&data, socket, 0) < 0))
            FAIL("receive: %s", zmq_strerror(zmq_errno()));
        arrive(0, zmq_msg_data(&own), zmq_msg_size(&own), zmq_msg_data(&data), zmq_msg_size(&data));
    }
    end();
    zmq_msg_close(&own);
    zmq_msg_close(&data);
    zmq_close(socket);
    zmq_ctx_term(context);
}

int main(int count, char **given) {
    read_order(count, given);
    void *context = zmq_ctx_new();
    if (is_role("produce") || is_role("push"))
        produce(context);
    else
        consume(context);
    return 0;
}
