"""What the examples of streams share: processes that are told what to do, an address, topics, the result."""
