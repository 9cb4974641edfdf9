// Streams of events: topics, producers, consumers.
#ifndef THALWEG_CXX_STREAM_HPP
#define THALWEG_CXX_STREAM_HPP

#include <thalweg/cxx/deadline.hpp>
#include <thalweg/cxx/error.hpp>
#include <thalweg/cxx/owner.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thalweg::stream {

enum class Rest : std::uint32_t {
  memory = THALWEG_REST_MEMORY,  ///< Gone with the server.
  files = THALWEG_REST_FILES,    ///< In the server's folder of topics.
  apart = THALWEG_REST_APART,    ///< In files, the data in a folder of their own.
};
enum class Durability : std::uint32_t {
  none = THALWEG_DURABILITY_NONE,          ///< Survives the end of the server.
  interval = THALWEG_DURABILITY_INTERVAL,  ///< Soon survives the end of the machine.
  always = THALWEG_DURABILITY_ALWAYS,      ///< Survives the end of the machine when it counts as appended.
};
enum class Begin : std::uint32_t { first = THALWEG_BEGIN_FIRST, next = THALWEG_BEGIN_NEXT };

/// How a partition is to be, or is; thalweg.h says more of each member.
struct Partition {
  Rest rest = Rest::memory;
  Durability durability = Durability::none;
  std::string data_folder;            ///< For Rest::apart, absolute.
  double interval_s = 0;              ///< For Durability::interval.
  double max_age_s = 0;               ///< 0: none goes for its age.
  std::uint64_t max_size_bytes = 0;   ///< 0: none goes for its size.
  bool drop_acknowledged = false;     ///< Whether events go that every named consumer has acknowledged.
};

/// The rules of a topic as JSON, for clients that obey them.
struct Rules {
  std::string validator = "null";
  std::string selector = "\"round_robin\"";
  std::string serializer = "\"json\"";
};

/// A partition of a topic that is there, its first event and the next to come.
struct DescribedPartition : Partition {
  std::uint64_t first = 0;
  std::uint64_t next = 0;
};

/// What a topic is.
struct Topic {
  std::vector<DescribedPartition> partitions;
  Rules rules;
};

namespace detail {
inline thalweg_partition plain(const Partition& partition) {
  thalweg_partition plain = THALWEG_PARTITION_INIT;
  plain.data_folder = thalweg::detail::or_null(partition.data_folder);
  plain.interval_s = partition.interval_s;
  plain.max_age_s = partition.max_age_s;
  plain.max_size_bytes = partition.max_size_bytes;
  plain.rest = static_cast<std::uint32_t>(partition.rest);
  plain.durability = static_cast<std::uint32_t>(partition.durability);
  plain.drop_acknowledged = partition.drop_acknowledged;
  return plain;
}

inline thalweg_status close_producer(thalweg_producer* producer) {
  return thalweg_producer_close(producer, patiently().left_s());
}
inline thalweg_status close_consumer(thalweg_consumer* consumer) {
  return thalweg_consumer_close(consumer, patiently().left_s());
}
}  // namespace detail

/// What becomes of what was pushed; forgetting it changes nothing.
class Pushed {
 public:
  explicit Pushed(thalweg_pushed* handle) : handle_(handle) {}

  /// Whether it is known.
  bool done() const {
    std::int32_t done = 0;
    check(thalweg_pushed_done(handle_.get(), &done));
    return done != 0;
  }
  /// Waits until all is appended; the number of event `index`. Throws why one was not.
  std::uint64_t wait(Deadline deadline = patiently(), std::uint64_t index = 0) const {
    std::uint64_t offset = 0;
    check(thalweg_pushed_wait(handle_.get(), index, deadline.left_s(), &offset));
    return offset;
  }

 private:
  thalweg::detail::Owner<thalweg_pushed, thalweg_pushed_release> handle_;
};

/// Bytes of many events, one behind the other, and where each ends.
struct Column {
  std::string_view bytes;
  const std::vector<std::uint64_t>& ends;
};

/// A producer of one topic, which flushes at its end. Threads may share it.
class Producer {
 public:
  struct Options {
    std::uint32_t batch_size = 0;    ///< Events that are sent together; 0: what is best now.
    std::uint32_t max_batches = 8;   ///< The most batches under way.
    bool strict = true;              ///< Whether events behind one that cannot be appended fail too.
    std::uint64_t outbox_bytes = 0;  ///< Memory for batches under way; 0: 64 MiB.
    double timeout_s = 30.0;         ///< How long it is tried to have a batch appended.
  };

  explicit Producer(thalweg_producer* handle) : handle_(handle) {}

  /// Hands over an event, whose data are `parts` one behind the other; all is copied. The next flush says what became
  /// of it.
  void push(std::uint32_t partition, std::string_view metadata, std::initializer_list<std::string_view> parts = {},
            Deadline deadline = patiently()) const {
    push(partition, metadata, parts, deadline, nullptr);
  }
  /// As `push`; what it returns says what becomes of the event.
  Pushed push_tracked(std::uint32_t partition, std::string_view metadata,
                      std::initializer_list<std::string_view> parts = {}, Deadline deadline = patiently()) const {
    thalweg_pushed* made = nullptr;
    push(partition, metadata, parts, deadline, &made);
    return Pushed(made);
  }
  /// Hands over as many events as there are ends of metadata, with data or without.
  Pushed push_many(std::uint32_t partition, const Column& metadata, const std::optional<Column>& data = {},
                   Deadline deadline = patiently()) const {
    const auto plain = [](const Column& column) {
      return thalweg_column{column.bytes.data(), column.bytes.size(), column.ends.data(), column.ends.size()};
    };
    const thalweg_column texts = plain(metadata);
    const thalweg_column bytes = data ? plain(*data) : thalweg_column{};
    thalweg_pushed* made = nullptr;
    check(thalweg_producer_push_many(handle_.get(), partition, &texts, data ? &bytes : nullptr, deadline.left_s(),
                                     &made));
    return Pushed(made);
  }
  /// Waits until all that was pushed has come to its end. Throws the first that failed since the last flush.
  void flush(Deadline deadline = patiently()) const {
    check(thalweg_producer_flush(handle_.get(), deadline.left_s()));
  }
  /// Flushes and ends it, also when it throws; an end without this tells nobody what failed.
  void close(Deadline deadline = patiently()) {
    check(thalweg_producer_close(handle_.release(), deadline.left_s()));
  }

  /// The handle, for functions of thalweg.h.
  thalweg_producer* get_handle() const { return handle_.get(); }

 private:
  void push(std::uint32_t partition, std::string_view metadata, std::initializer_list<std::string_view> parts,
            Deadline deadline, thalweg_pushed** pushed) const {
    const double left_s = deadline.left_s();
    if (parts.size() <= 1) {
      const std::string_view data = parts.size() == 0 ? std::string_view() : *parts.begin();
      const thalweg_segment one{data.data(), data.size()};
      check(thalweg_producer_push(handle_.get(), partition, metadata.data(), metadata.size(), &one, parts.size(),
                                  left_s, pushed));
      return;
    }
    std::vector<thalweg_segment> segments;
    segments.reserve(parts.size());
    for (const auto part : parts) segments.push_back({part.data(), part.size()});
    check(thalweg_producer_push(handle_.get(), partition, metadata.data(), metadata.size(), segments.data(),
                                segments.size(), left_s, pushed));
  }

  thalweg::detail::Owner<thalweg_producer, detail::close_producer> handle_;
};

/// One event of some, as it lies in their memory.
struct Event {
  std::uint32_t partition;
  std::uint64_t offset;
  std::string_view metadata;
  std::string_view data;    ///< Empty where the data lie apart: Consumer::read_data.
  std::uint64_t data_size;  ///< In bytes, wherever they lie.
};

/// Events of one partition, and their memory.
class Events {
 public:
  explicit Events(thalweg_events* handle) : handle_(handle) { check(thalweg_events_describe(handle, &info_)); }

  std::uint32_t partition() const { return info_.partition; }
  /// The number of the first.
  std::uint64_t first() const { return info_.first; }
  /// The number behind the last.
  std::uint64_t next() const { return info_.first + info_.count; }
  /// When they were appended, in seconds since 1970.
  double time_s() const { return info_.time_s; }
  /// Whether their data lie apart, so that they must be read.
  bool apart() const { return info_.apart != 0; }
  std::size_t size() const { return info_.count; }

  /// Event `index`; its views hold as long as these events.
  Event operator[](std::size_t index) const {
    const void *metadata = nullptr, *data = nullptr;
    std::size_t length = 0;
    std::uint64_t size = 0;
    check(thalweg_events_metadata(handle_.get(), static_cast<std::uint32_t>(index), &metadata, &length));
    check(thalweg_events_data(handle_.get(), static_cast<std::uint32_t>(index), &data, &size));
    const auto here = data ? std::string_view(static_cast<const char*>(data), size) : std::string_view();
    return {partition(), first() + index, {static_cast<const char*>(metadata), length}, here, size};
  }

  /// Goes through the events, for `for (const auto event : events)`.
  class Iterator {
   public:
    Iterator(const Events* events, std::size_t index) : events_(events), index_(index) {}
    Event operator*() const { return (*events_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const Events* events_;
    std::size_t index_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

  /// The handle, for functions of thalweg.h.
  thalweg_events* get_handle() const { return handle_.get(); }

 private:
  thalweg_events_info info_ = THALWEG_EVENTS_INFO_INIT;
  thalweg::detail::Owner<thalweg_events, thalweg_events_release> handle_;
};

/// A member of a named consumer, which leaves at its end. Threads may share it.
class Consumer {
 public:
  struct Options {
    std::string name = "default";                          ///< Members of one name share the partitions.
    std::optional<std::vector<std::uint32_t>> partitions;  ///< Those that it may have; none: all.
    Begin begin = Begin::first;                            ///< Where it begins where nothing was acknowledged.
  };

  explicit Consumer(thalweg_consumer* handle) : handle_(handle) {}

  /// The next events of one partition, at most `most`. Throws Kind::timeout when none came: then nothing was taken.
  Events pull(std::uint32_t most = 1000, Deadline deadline = patiently()) const {
    thalweg_events* made = nullptr;
    check(thalweg_consumer_pull(handle_.get(), most, deadline.left_s(), &made));
    return Events(made);
  }
  /// Copies bytes `begin` to `end` of the data of event `index` of `events` to `into`.
  void read_data(const Events& events, std::size_t index, std::uint64_t begin, std::uint64_t end, void* into,
                 Deadline deadline = patiently()) const {
    check(thalweg_consumer_read_data(handle_.get(), events.get_handle(), static_cast<std::uint32_t>(index), begin, end,
                                     into, deadline.left_s()));
  }
  /// The name is not given these again, nor any before them.
  void acknowledge(const Events& events) const { acknowledge(events.partition(), events.next()); }
  /// The name is not given events before `next` again.
  void acknowledge(std::uint32_t partition, std::uint64_t next) const {
    check(thalweg_consumer_acknowledge(handle_.get(), partition, next));
  }
  /// Pulls from event `next` on.
  void seek(std::uint32_t partition, std::uint64_t next, Deadline deadline = patiently()) const {
    check(thalweg_consumer_seek(handle_.get(), partition, next, deadline.left_s()));
  }
  /// Pulls from the first event on that was appended then, or later.
  void seek(std::uint32_t partition, std::chrono::system_clock::time_point time,
            Deadline deadline = patiently()) const {
    const double time_s = std::chrono::duration<double>(time.time_since_epoch()).count();
    check(thalweg_consumer_seek_time(handle_.get(), partition, time_s, deadline.left_s()));
  }
  /// Where it is in the partitions that it holds.
  std::vector<thalweg_position> positions(Deadline deadline = patiently()) const {
    std::vector<thalweg_position> all(16);
    std::size_t count = 0;
    check(thalweg_consumer_positions(handle_.get(), deadline.left_s(), all.data(), all.size(), &count));
    while (count > all.size()) {
      all.resize(count);
      check(thalweg_consumer_positions(handle_.get(), deadline.left_s(), all.data(), all.size(), &count));
    }
    all.resize(count);
    return all;
  }
  /// Leaves, and throws where the server could not be told.
  void close(Deadline deadline = patiently()) { check(thalweg_consumer_close(handle_.release(), deadline.left_s())); }

  /// The handle, for functions of thalweg.h.
  thalweg_consumer* get_handle() const { return handle_.get(); }

 private:
  thalweg::detail::Owner<thalweg_consumer, detail::close_consumer> handle_;
};

/// A connection to the stream service. Threads may share it; a forked child must make its own.
class Driver {
 public:
  struct Options {
    std::string address;  ///< Empty: THALWEG_ADDRESS, else a private server in this process.
    std::string name;     ///< What this client is called in messages; empty: the program's name.
    std::string token;    ///< The server's secret; empty: THALWEG_TOKEN.
  };

  Driver() : Driver(Options()) {}
  explicit Driver(const Options& options, Deadline deadline = std::chrono::seconds(10)) {
    thalweg_connect_options plain = THALWEG_CONNECT_OPTIONS_INIT;
    plain.addresses = thalweg::detail::or_null(options.address);
    plain.name = thalweg::detail::or_null(options.name);
    plain.token = thalweg::detail::or_null(options.token);
    plain.timeout_s = deadline.left_s();
    thalweg_stream_driver* made = nullptr;
    check(thalweg_stream_connect(&plain, &made));
    handle_.reset(made);
  }

  /// Makes a topic of so many partitions, all alike.
  void create_topic(const std::string& name, std::uint32_t partitions = 1, const Partition& partition = {},
                    const Rules& rules = {}, Deadline deadline = patiently()) const {
    const auto plain = detail::plain(partition);
    thalweg_rules texts = THALWEG_RULES_INIT;
    texts.validator = rules.validator.c_str();
    texts.selector = rules.selector.c_str();
    texts.serializer = rules.serializer.c_str();
    check(thalweg_topic_create(handle_.get(), name.c_str(), partitions, &plain, &texts, deadline.left_s()));
  }
  /// Adds a partition behind those that are there.
  void add_partition(const std::string& name, const Partition& partition = {}, Deadline deadline = patiently()) const {
    const auto plain = detail::plain(partition);
    check(thalweg_topic_add_partition(handle_.get(), name.c_str(), &plain, deadline.left_s()));
  }
  /// Removes a topic with its events.
  void delete_topic(const std::string& name, Deadline deadline = patiently()) const {
    check(thalweg_topic_delete(handle_.get(), name.c_str(), deadline.left_s()));
  }
  /// The names of all topics, in order.
  std::vector<std::string> list_topics(Deadline deadline = patiently()) const {
    thalweg_names* made = nullptr;
    check(thalweg_topics(handle_.get(), deadline.left_s(), &made));
    const thalweg::detail::Owner<thalweg_names, thalweg_names_release> names(made);
    std::vector<std::string> all;
    for (std::size_t i = 0; i < thalweg_names_count(made); ++i) all.emplace_back(thalweg_names_at(made, i));
    return all;
  }
  /// What a topic is at this moment.
  Topic describe_topic(const std::string& name, Deadline deadline = patiently()) const {
    thalweg_topic* made = nullptr;
    check(thalweg_topic_describe(handle_.get(), name.c_str(), deadline.left_s(), &made));
    const thalweg::detail::Owner<thalweg_topic, thalweg_topic_release> described(made);
    thalweg_rules rules = THALWEG_RULES_INIT;
    check(thalweg_topic_rules(made, &rules));
    Topic topic;
    topic.rules = {rules.validator, rules.selector, rules.serializer};
    for (std::uint32_t number = 0; number < thalweg_topic_partition_count(made); ++number) {
      thalweg_partition plain = THALWEG_PARTITION_INIT;
      DescribedPartition partition;
      check(thalweg_topic_partition(made, number, &plain, &partition.first, &partition.next));
      partition.rest = static_cast<Rest>(plain.rest);
      partition.durability = static_cast<Durability>(plain.durability);
      partition.data_folder = plain.data_folder ? plain.data_folder : "";
      partition.interval_s = plain.interval_s;
      partition.max_age_s = plain.max_age_s;
      partition.max_size_bytes = plain.max_size_bytes;
      partition.drop_acknowledged = plain.drop_acknowledged != 0;
      topic.partitions.push_back(std::move(partition));
    }
    return topic;
  }

  Producer producer(const std::string& topic) const { return producer(topic, Producer::Options()); }
  /// A producer of a topic, over a connection of its own.
  Producer producer(const std::string& topic, const Producer::Options& options,
                    Deadline deadline = patiently()) const {
    thalweg_producer_options plain = THALWEG_PRODUCER_OPTIONS_INIT;
    plain.batch_size = options.batch_size;
    plain.max_batches = options.max_batches;
    plain.loose = !options.strict;
    plain.outbox_bytes = options.outbox_bytes;
    plain.timeout_s = options.timeout_s;
    thalweg_producer* made = nullptr;
    check(thalweg_producer_open(handle_.get(), topic.c_str(), &plain, deadline.left_s(), &made));
    return Producer(made);
  }
  Consumer consumer(const std::string& topic) const { return consumer(topic, Consumer::Options()); }
  /// A member of a named consumer of a topic, over a connection of its own.
  Consumer consumer(const std::string& topic, const Consumer::Options& options,
                    Deadline deadline = patiently()) const {
    thalweg_consumer_options plain = THALWEG_CONSUMER_OPTIONS_INIT;
    plain.name = options.name.c_str();
    // An empty list is none at all, not all.
    static const std::uint32_t nothing = 0;
    if (options.partitions) {
      plain.partitions = options.partitions->empty() ? &nothing : options.partitions->data();
      plain.partition_count = options.partitions->size();
    }
    plain.begin = static_cast<std::uint32_t>(options.begin);
    thalweg_consumer* made = nullptr;
    check(thalweg_consumer_open(handle_.get(), topic.c_str(), &plain, deadline.left_s(), &made));
    return Consumer(made);
  }

  /// The handle, for functions of thalweg.h.
  thalweg_stream_driver* get_handle() const { return handle_.get(); }

 private:
  thalweg::detail::Owner<thalweg_stream_driver, thalweg_stream_disconnect> handle_;
};

}  // namespace thalweg::stream

#endif  // THALWEG_CXX_STREAM_HPP
