// What the C++ programs of these tests say of a failure: the line, and what was met.
#pragma once

#include <thalweg.hpp>

#include <cstdio>
#include <string>

static int failures = 0;

#define TRUE(condition) expect(__LINE__, #condition, (condition))
#define THROWS(kind, words, call) throws(__LINE__, #call, kind, words, [&] { call; })

static void expect(int line, const char* what, bool holds) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "line %d: %s does not hold\n", line, what);
}

template <class Call>
static void throws(int line, const char* what, thalweg::Kind kind, const std::string& words, Call&& call) {
  std::string met = "nothing";
  try {
    call();
  } catch (const thalweg::Error& error) {
    if (error.kind() == kind && std::string(error.what()).find(words) != std::string::npos) return;
    met = std::to_string(static_cast<int>(error.kind())) + " \"" + error.what() + "\"";
  }
  ++failures;
  std::fprintf(stderr, "line %d: %s\n  threw %s\n  instead of %d \"…%s…\"\n", line, what, met.c_str(),
               static_cast<int>(kind), words.c_str());
}
