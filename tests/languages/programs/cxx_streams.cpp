// Streams in C++: what is pushed comes out as it went in; owners, views, exceptions with kinds.
#include "check.hpp"

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using thalweg::Kind;
namespace stream = thalweg::stream;

static std::string metadata_of(std::uint64_t number) { return "{\"n\": " + std::to_string(number) + "}"; }
static std::string data_of(std::uint64_t number) {
  return std::string(number == 1000 ? 1 << 20 : number % 33, static_cast<char>('a' + number % 26));
}

static void topics(const stream::Driver& driver) {
  stream::Partition partition;
  partition.rest = stream::Rest::files;
  partition.durability = stream::Durability::always;
  partition.max_age_s = 60;
  driver.create_topic("cxx-topics", 3, partition, {"null", "\"explicit\"", "\"messagepack\""});
  driver.add_partition("cxx-topics");
  const auto topic = driver.describe_topic("cxx-topics");
  TRUE(topic.partitions.size() == 4 && topic.rules.selector == "\"explicit\"");
  TRUE(topic.partitions[2].durability == stream::Durability::always && topic.partitions[2].max_age_s == 60);
  TRUE(topic.partitions[3].rest == stream::Rest::memory && topic.partitions[3].next == 0);
  TRUE(driver.list_topics() == std::vector<std::string>{"cxx-topics"});
  THROWS(Kind::exists, "\"cxx-topics\"", driver.create_topic("cxx-topics"));
  driver.delete_topic("cxx-topics");
  THROWS(Kind::not_found, "\"cxx-topics\"", driver.describe_topic("cxx-topics"));
  THROWS(Kind::not_found, "\"nothing\"", driver.producer("nothing"));
  THROWS(Kind::not_found, "\"nothing\"", driver.consumer("nothing"));
  THROWS(Kind::invalid, "stream.create: a name of 0 bytes", driver.create_topic(""));
}

static void produce(const stream::Driver& driver) {
  auto producer = driver.producer("cxx");
  for (std::uint64_t n = 0; n < 400; ++n) {
    const auto data = data_of(n);
    const auto half = std::string_view(data).substr(0, data.size() / 2);
    producer.push(0, metadata_of(n), {half, std::string_view(data).substr(half.size())});
  }
  std::string texts, bytes;
  std::vector<std::uint64_t> text_ends, data_ends;
  for (std::uint64_t n = 400; n < 1000; ++n) {
    text_ends.push_back((texts += metadata_of(n)).size());
    data_ends.push_back((bytes += data_of(n)).size());
  }
  const auto many = producer.push_many(0, {texts, text_ends}, stream::Column{bytes, data_ends});
  TRUE(many.wait() == 400 && many.wait(1s, 599) == 999 && many.done());
  const auto large = data_of(1000);
  auto one = producer.push_tracked(0, metadata_of(1000), {large});
  const auto moved = std::move(one);
  TRUE(moved.wait() == 1000);
  producer.push(1, "alone");
  producer.flush();
  THROWS(Kind::invalid, "partition 2", producer.push(2, "x"));
  producer.close();
  THROWS(Kind::invalid, "producer is NULL", producer.push(0, "x"));
}

static void consume(const stream::Driver& driver, std::uint64_t next, std::uint64_t end) {
  stream::Consumer::Options options;
  options.name = "checker";
  options.partitions = {{0}};
  const auto consumer = driver.consumer("cxx", options);
  for (const int before = failures; next < end && failures == before;) {
    const auto events = consumer.pull(static_cast<std::uint32_t>(end - next), 30s);
    TRUE(events.first() == next && events.partition() == 0 && events.size() > 0);
    for (const auto event : events) {
      const auto data = data_of(next);
      TRUE(event.offset == next && event.metadata == metadata_of(next) && event.data_size == data.size());
      TRUE(events.apart() ? event.data.empty() : event.data == data);
      std::string copy(event.data_size, '\0');
      consumer.read_data(events, event.offset - events.first(), 0, event.data_size, copy.data());
      TRUE(copy == data);
      ++next;
    }
    THROWS(Kind::invalid, "index", events[events.size()]);
    consumer.acknowledge(events);
  }
}

static void where_it_is(const stream::Driver& driver) {
  stream::Consumer::Options options;
  options.name = "checker";
  options.forget = true;
  auto consumer = driver.consumer("cxx", options);
  const auto positions = consumer.positions();
  TRUE(positions.size() == 2 && positions[0].acknowledged == 1001 && positions[1].end == 1 && positions[1].next == 0);
  const auto alone = consumer.pull(10, 30s);
  TRUE(alone.partition() == 1 && alone[0].metadata == "alone" && alone[0].data_size == 0);
  THROWS(Kind::timeout, "no event came", consumer.pull(10, 20ms));
  consumer.seek(0, 998);
  TRUE(consumer.pull(1)[0].metadata == metadata_of(998));
  consumer.seek(0, std::chrono::system_clock::time_point());
  TRUE(consumer.pull(1).first() == 0);
  THROWS(Kind::invalid, "accepted are 0 to 1001", consumer.seek(0, 5000));
  consumer.close();
  TRUE(alone[0].metadata == "alone");  // events outlive their consumer
  TRUE(driver.consumer("cxx", options).positions()[0].acknowledged == 0);
}

// To the server at THALWEG_ADDRESS, which has no other topics.
int main() {
  const stream::Driver driver;
  topics(driver);
  stream::Partition partition;
  partition.rest = stream::Rest::files;
  driver.create_topic("cxx", 2, partition);
  produce(driver);
  consume(driver, 0, 123);
  consume(driver, 123, 1001);  // the name goes on where it was
  where_it_is(driver);
  driver.delete_topic("cxx");
  THROWS(Kind::gone, "@thalweg-nobody-serves-here",
         stream::Driver({"unix:@thalweg-nobody-serves-here", "", ""}, 10ms));
  if (failures == 0) std::puts("OK");
  return failures > 0;
}
