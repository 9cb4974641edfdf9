"""The rules of a topic that all its clients follow: validator, selector, serializer."""
