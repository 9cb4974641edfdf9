"""The technologies that carry streams, each in one file over one interface of bytes."""
