"""Thalweg's streams beside Kafka, Redis streams and ZeroMQ, native and from Python, in one interleaved run."""
