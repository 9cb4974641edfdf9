"""Streams in a Kafka broker."""
