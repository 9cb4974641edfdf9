/*
 * The C face of Thalweg: staged n-d arrays between processes, in the layout that each one needs, and streams of events.
 *
 * Functions return a thalweg_status; thalweg_last_error() then says what failed, the value that was met and what is
 * accepted. Time-outs are in seconds; a wait that cannot end in time ends with THALWEG_TIMEOUT. Regions count cells
 * from 0 and exclude their upper end; versions are 0 to 2^63 - 1. Handles are checked at every use: one that was
 * released is THALWEG_INVALID. All functions may be called from any thread.
 *
 * Made from bindings/c/src by scripts/header; do not edit.
 */

#ifndef THALWEG_H
#define THALWEG_H

#include <stddef.h>
#include <stdint.h>
/** The element type of a kind and a size; see thalweg_dtype. */
#define THALWEG_ELEMENT(kind, size_bytes) ((thalweg_dtype)(kind) << 24 | (thalweg_dtype)(size_bytes))
#define THALWEG_BOOL THALWEG_ELEMENT('b', 1)
#define THALWEG_INT8 THALWEG_ELEMENT('i', 1)
#define THALWEG_INT16 THALWEG_ELEMENT('i', 2)
#define THALWEG_INT32 THALWEG_ELEMENT('i', 4)
#define THALWEG_INT64 THALWEG_ELEMENT('i', 8)
#define THALWEG_UINT8 THALWEG_ELEMENT('u', 1)
#define THALWEG_UINT16 THALWEG_ELEMENT('u', 2)
#define THALWEG_UINT32 THALWEG_ELEMENT('u', 4)
#define THALWEG_UINT64 THALWEG_ELEMENT('u', 8)
#define THALWEG_FLOAT16 THALWEG_ELEMENT('f', 2)
#define THALWEG_FLOAT32 THALWEG_ELEMENT('f', 4)
#define THALWEG_FLOAT64 THALWEG_ELEMENT('f', 8)
#define THALWEG_COMPLEX64 THALWEG_ELEMENT('c', 8)
#define THALWEG_COMPLEX128 THALWEG_ELEMENT('c', 16)
/** Records, or anything else of 1 to 65536 bytes. */
#define THALWEG_OPAQUE(size_bytes) THALWEG_ELEMENT('V', size_bytes)

/** Versions, in C; C++ has thalweg::exactly(version), thalweg::latest() and thalweg::after(version). */
#define THALWEG_EXACTLY(v) ((thalweg_which){THALWEG_HOW_EXACTLY, (v)})
#define THALWEG_LATEST ((thalweg_which){THALWEG_HOW_LATEST, 0})
#define THALWEG_AFTER(v) ((thalweg_which){THALWEG_HOW_AFTER, (v)})

/** Initialisers: what they do not name is zero, and zero is the default. */
#define THALWEG_SERVER_OPTIONS_INIT {sizeof(thalweg_server_options), 0, 0, NULL, NULL, NULL}
#define THALWEG_CONNECT_OPTIONS_INIT {sizeof(thalweg_connect_options), NULL, NULL, NULL, NULL, 10.0}
#define THALWEG_DEFINITION_INIT {sizeof(thalweg_definition), 0, 0, {0}, 0, 0, 0, 0, NULL, NULL, 0}
#define THALWEG_VIEW_INFO_INIT {sizeof(thalweg_view_info), NULL, 0, 0, 0, {0}, {0}, {0}}
#define THALWEG_PARTITION_INIT {sizeof(thalweg_partition), NULL, 0.0, 0.0, 0, 0, 0, 0, 0}
#define THALWEG_RULES_INIT {sizeof(thalweg_rules), NULL, NULL, NULL}
#define THALWEG_PRODUCER_OPTIONS_INIT {sizeof(thalweg_producer_options), 0, 30.0, 0, 8, 0, 0}
#define THALWEG_CONSUMER_OPTIONS_INIT {sizeof(thalweg_consumer_options), NULL, NULL, 0, 0, 0}
#define THALWEG_EVENTS_INFO_INIT {sizeof(thalweg_events_info), 0, 0, 0.0, 0, 0}


/// The most axes that an array may have.
#define THALWEG_MAX_DIMS 8

/// Packed, the last axis fastest: C's order, Kokkos' `LayoutRight`.
#define THALWEG_ROW_MAJOR 0

/// Packed, the first axis fastest: Fortran's order, Kokkos' `LayoutLeft`.
#define THALWEG_COLUMN_MAJOR 1

/// Packed, in the order of `thalweg_layout.axes`.
#define THALWEG_AXES 2

/// As `thalweg_layout.strides_bytes` says; for arrays of the caller only.
#define THALWEG_STRIDES 3

/// Records as an array of structs: the fields of a cell lie beside each other.
#define THALWEG_STRUCTS 0

/// Records as a struct of arrays: each field is a packed array, in the order of the fields.
#define THALWEG_ARRAYS 1

/// When memory is full, a put waits within its deadline.
#define THALWEG_BLOCK 0

/// When memory is full, a put fails with `THALWEG_FULL`.
#define THALWEG_FAIL 1

/// When memory is full, the oldest versions that nobody is reading are dropped.
#define THALWEG_DROP_OLDEST 2

/// The strategy of the variable's definition; in a definition the default, `THALWEG_SAHR`.
#define THALWEG_STRATEGY_DEFAULT 0

/// Reorganised at the destination, in the reader's get.
#define THALWEG_RAD 1

/// Reorganised in the service when somebody first asks; the replica serves everybody after.
#define THALWEG_RASAR 2

/// Reorganised in the service as soon as data arrive, into every registered layout.
#define THALWEG_RASIA 3

/// Reorganised in the service as soon as data arrive that meet a pattern of earlier gets; until then at the
/// destination.
#define THALWEG_SAHR 4

/// The version of `thalweg_which.version`.
#define THALWEG_HOW_EXACTLY 0

/// The newest version in which the region is complete.
#define THALWEG_HOW_LATEST 1

/// The oldest version behind `thalweg_which.version` in which the region is complete.
#define THALWEG_HOW_AFTER 2

/// The most requests of a process that may go on at a time. Each has a thread: with fewer, gets that wait for a put
/// could stand in front of that very put.
#define THALWEG_MAX_REQUESTS 256

/// A partition in the server's memory: its events are gone with the server.
#define THALWEG_REST_MEMORY 0

/// A partition in files, in the server's folder of topics.
#define THALWEG_REST_FILES 1

/// As `THALWEG_REST_FILES`, the data apart from their metadata in `thalweg_partition.data_folder`.
#define THALWEG_REST_APART 2

/// An event counts as appended when the operating system has it: it survives the end of the server, not of the machine.
#define THALWEG_DURABILITY_NONE 0

/// As `THALWEG_DURABILITY_NONE`; after `thalweg_partition.interval_s` at the latest it survives the machine too.
#define THALWEG_DURABILITY_INTERVAL 1

/// An event counts as appended when it survives the end of the machine.
#define THALWEG_DURABILITY_ALWAYS 2

/// A consumer begins with the first event that there is.
#define THALWEG_BEGIN_FIRST 0

/// A consumer begins with the first event to come.
#define THALWEG_BEGIN_NEXT 1

/// The bytes of a file stay in memory.
#define THALWEG_REDIRECT_MEMORY 0

/// The bytes of a file stay in memory, and behind it in the file.
#define THALWEG_REDIRECT_BOTH 1

/// To see what is there now; waits for nobody and disturbs nobody.
#define THALWEG_ACCESS_LOOK 0

/// To read what others wrote.
#define THALWEG_ACCESS_READ 1

/// To read and write what is there.
#define THALWEG_ACCESS_UPDATE 2

/// To make the file where it is not there.
#define THALWEG_ACCESS_CREATE 3

/// To make the file anew, without what was in it.
#define THALWEG_ACCESS_TRUNCATE 4

/// To make the file, which must not be there.
#define THALWEG_ACCESS_EXCLUSIVE 5

/// This opening is no turn of the component, only a glance before one or between its calls.
#define THALWEG_OPEN_GLANCE 1

/// What is not there is not waited for, except for a turn.
#define THALWEG_OPEN_AT_ONCE 2

/// The bytes of an earlier file of its kind will do, as the caller overwrites them: their memory is at hand.
#define THALWEG_OPEN_WARM 4

/// The most dimensions of a `thalweg_box`.
#define THALWEG_BOX_DIMS 8

/// The most regions that `thalweg_redirect_holes` tells of.
#define THALWEG_HOLES_MAX 512

/// What a call came to.
///
/// Anything but `THALWEG_OK` leaves a message for `thalweg_last_error`, which says what failed, the value that was
/// met and what is accepted.
typedef enum thalweg_status {
  /// It did what it says.
  THALWEG_OK = 0,
  /// A variable or version does not exist.
  THALWEG_NOT_FOUND = 1,
  /// A version is already there.
  THALWEG_EXISTS = 2,
  /// An argument is outside what is accepted; also a handle that was released.
  THALWEG_INVALID = 3,
  /// Extents, regions or dimensions do not agree.
  THALWEG_SHAPE = 4,
  /// Element types do not agree, or one is not supported.
  THALWEG_DTYPE = 5,
  /// A memory or count limit is reached.
  THALWEG_FULL = 6,
  /// The deadline passed.
  THALWEG_TIMEOUT = 7,
  /// The server, or another process, cannot be reached any more.
  THALWEG_GONE = 8,
  /// The token is wrong, or the operation is not allowed.
  THALWEG_ACCESS = 9,
  /// A message could not be understood: two releases that do not fit.
  THALWEG_PROTOCOL = 10,
  /// The operating system refused.
  THALWEG_IO = 11,
  /// `thalweg_cancel` ended it.
  THALWEG_INTERRUPTED = 12,
  /// Stored bytes are not what was written.
  THALWEG_CORRUPT = 13,
  /// A defect of Thalweg itself; please report it with the message.
  THALWEG_INTERNAL = 99,
} thalweg_status;

/// A connection to the staging service; made by `thalweg_connect`, ended by `thalweg_disconnect`. Threads may share
/// it; a forked child must make its own.
typedef struct thalweg_client thalweg_client;

/// A member of a named consumer of one topic; made by `thalweg_consumer_open`, ended by `thalweg_consumer_close`.
/// Threads may share it.
typedef struct thalweg_consumer thalweg_consumer;

/// Events of one partition, one behind the other; made by `thalweg_consumer_pull`, ended by `thalweg_events_release`.
typedef struct thalweg_events thalweg_events;

/// Memory of the service that is to be filled in place, without any copy; made by `thalweg_loan_take`, ended by
/// `thalweg_loan_commit` or `thalweg_loan_discard`.
typedef struct thalweg_loan thalweg_loan;

/// A list of names; ended by `thalweg_names_release`.
typedef struct thalweg_names thalweg_names;

/// A producer of one topic; made by `thalweg_producer_open`, ended by `thalweg_producer_close`. Threads may share it.
typedef struct thalweg_producer thalweg_producer;

/// What becomes of one push; made by `thalweg_producer_push` and `thalweg_producer_push_many`, ended by
/// `thalweg_pushed_release`.
typedef struct thalweg_pushed thalweg_pushed;

/// A connection to the redirect service; made by `thalweg_redirect_connect`, ended by `thalweg_redirect_disconnect`.
/// Threads may share it; a forked child must make its own.
typedef struct thalweg_redirect thalweg_redirect;

/// A put or get that goes on in the background; made by `thalweg_iput`, `thalweg_iget` and `thalweg_iget_into`, ended
/// by `thalweg_request_release`.
typedef struct thalweg_request thalweg_request;

/// A server that runs in this process; made by `thalweg_server_start`, ended by `thalweg_server_stop`.
typedef struct thalweg_server thalweg_server;

/// A connection to the stream service; made by `thalweg_stream_connect`, ended by `thalweg_stream_disconnect`. Threads
/// may share it; a forked child must make its own.
typedef struct thalweg_stream_driver thalweg_stream_driver;

/// What a topic is; made by `thalweg_topic_describe`, ended by `thalweg_topic_release`.
typedef struct thalweg_topic thalweg_topic;

/// A variable: a named n-d array that has many versions; made by `thalweg_define` or `thalweg_open`, ended by
/// `thalweg_close`. Threads may share it.
typedef struct thalweg_variable thalweg_variable;

/// Memory for reading, as long as the view is held; ended by `thalweg_view_release`.
typedef struct thalweg_view thalweg_view;

/// How a server is to be; begin with `THALWEG_SERVER_OPTIONS_INIT`.
typedef struct thalweg_server_options {
  /// The size of this struct, in bytes.
  size_t size;
  /// The most memory that arrays may take, at least 1 MiB; 0: half of what is available.
  uint64_t memory_limit_bytes;
  /// `THALWEG_BLOCK`, `THALWEG_FAIL` or `THALWEG_DROP_OLDEST`.
  uint32_t when_full;
  /// The name of the Unix socket: a path, or `@name` in Linux's abstract space; `NULL`: a fresh abstract one.
  const char *socket;
  /// `host:port` to serve other nodes over TCP as well, port 0 for a free one; `NULL`: this node only.
  const char *listen;
  /// The secret, of at least 8 characters, that clients over TCP must give; needed with `listen`.
  const char *token;
} thalweg_server_options;

/// Where to connect to; begin with `THALWEG_CONNECT_OPTIONS_INIT`.
typedef struct thalweg_connect_options {
  /// The size of this struct, in bytes.
  size_t size;
  /// `unix:NAME` or `tcp:HOST:PORT`, several separated by commas; `NULL`: the environment's `THALWEG_ADDRESS`, and
  /// without one a private server in this process.
  const char *addresses;
  /// The variables of different namespaces never meet; give each run its own. `NULL`: `default`.
  const char *name_space;
  /// What this client is called in messages to people; `NULL`: the program's name.
  const char *name;
  /// The server's secret, needed over TCP; `NULL`: the environment's `THALWEG_TOKEN`.
  const char *token;
  /// How long to try, in seconds.
  double timeout_s;
} thalweg_connect_options;

/// The type of one element: its kind's letter as NumPy has it (`b` bool, `i` signed, `u` unsigned, `f` real, `c`
/// complex, `V` opaque) in the highest byte, and its size in bytes in the others. Byte order is the machine's.
///
/// `THALWEG_FLOAT64` and the others name the usual ones; `THALWEG_OPAQUE(size_bytes)` is a record.
typedef uint32_t thalweg_dtype;

/// One field of a record.
typedef struct thalweg_field {
  /// What it is called.
  const char *name;
  /// The type of its value.
  thalweg_dtype dtype;
  /// Bytes from the record's start.
  uint32_t offset_bytes;
} thalweg_field;

/// How an array lies in memory. All zero is packed and row-major.
typedef struct thalweg_layout {
  /// `THALWEG_ROW_MAJOR`, `THALWEG_COLUMN_MAJOR`, `THALWEG_AXES` or `THALWEG_STRIDES`.
  uint32_t order;
  /// `THALWEG_STRUCTS` or `THALWEG_ARRAYS`; only for variables with fields.
  uint32_t records;
  /// With `THALWEG_AXES`: the axes from the slowest to the fastest.
  uint8_t axes[THALWEG_MAX_DIMS];
  /// With `THALWEG_STRIDES`: bytes from one cell to the next along each axis.
  int64_t strides_bytes[THALWEG_MAX_DIMS];
} thalweg_layout;

/// How a variable is; begin with `THALWEG_DEFINITION_INIT`.
typedef struct thalweg_definition {
  /// The size of this struct, in bytes.
  size_t size;
  /// The type of one cell; `THALWEG_OPAQUE(size_bytes)` for records.
  thalweg_dtype dtype;
  /// How many axes there are, 1 to `THALWEG_MAX_DIMS`.
  uint32_t dims;
  /// How many cells there are along each axis.
  uint64_t domain[THALWEG_MAX_DIMS];
  /// Where data are reorganised: `THALWEG_RAD`, `THALWEG_RASAR`, `THALWEG_RASIA`, `THALWEG_SAHR` or the default.
  uint32_t strategy;
  /// How many complete versions are kept; 0: all, until they are released.
  uint32_t keep_last;
  /// How many writers must seal a version before it can be read; 0: a region can be read where it is complete.
  uint32_t writers;
  /// How many `fields` there are; 0 for plain elements.
  uint32_t field_count;
  /// The fields of a record.
  const struct thalweg_field *fields;
  /// The layouts into which `THALWEG_RASIA` brings the data.
  const struct thalweg_layout *layouts;
  /// How many `layouts` there are.
  uint32_t layout_count;
} thalweg_definition;

/// One version of a variable.
typedef struct thalweg_version_state {
  /// Which.
  uint64_t version;
  /// How many cells have been put.
  uint64_t cells;
  /// How many writers have sealed it.
  uint32_t seals;
  /// 1 when all that will be put has been, else 0.
  int32_t complete;
} thalweg_version_state;

/// The cells `lower[i] <= index[i] < lower[i] + extent[i]`, counted from 0; the upper end is never inclusive.
typedef struct thalweg_region {
  /// How many axes there are, at most `THALWEG_MAX_DIMS`.
  uint32_t dims;
  /// The first cell along each axis.
  uint64_t lower[THALWEG_MAX_DIMS];
  /// The number of cells along each axis.
  uint64_t extent[THALWEG_MAX_DIMS];
} thalweg_region;

/// Which version of a variable: `THALWEG_EXACTLY(version)`, `THALWEG_LATEST` or `THALWEG_AFTER(version)`.
typedef struct thalweg_which {
  /// `THALWEG_HOW_EXACTLY`, `THALWEG_HOW_LATEST` or `THALWEG_HOW_AFTER`.
  uint32_t how;
  /// The version that `how` speaks of.
  uint64_t version;
} thalweg_which;

/// What a view shows; begin with `THALWEG_VIEW_INFO_INIT`.
typedef struct thalweg_view_info {
  /// The size of this struct, in bytes.
  size_t size;
  /// The first cell of the region; must not be written.
  const void *data;
  /// The version.
  uint64_t version;
  /// The type of one cell.
  thalweg_dtype dtype;
  /// How many axes there are.
  uint32_t dims;
  /// The first cell of the region along each axis.
  uint64_t lower[THALWEG_MAX_DIMS];
  /// The number of cells along each axis.
  uint64_t extent[THALWEG_MAX_DIMS];
  /// Bytes from one cell to the next along each axis.
  int64_t strides_bytes[THALWEG_MAX_DIMS];
} thalweg_view_info;

/// The bins of a histogram: `count` of equal width from `lower` to `upper`, the last one closed.
typedef struct thalweg_bins {
  /// Where the first bin begins.
  double lower;
  /// Where the last bin ends.
  double upper;
  /// How many.
  uint32_t count;
} thalweg_bins;

/// What was found in the cells of a region.
typedef struct thalweg_summary {
  /// The version.
  uint64_t version;
  /// How many cells.
  uint64_t count;
  /// The least value; not a number when a cell is none.
  double min;
  /// The greatest value; not a number when a cell is none.
  double max;
  /// The sum; divided by `count` it is the mean.
  double sum;
} thalweg_summary;

/// How a partition is to be, or is; begin with `THALWEG_PARTITION_INIT`. Events go when any of the three limits says
/// so, whole files at a time.
typedef struct thalweg_partition {
  /// The size of this struct, in bytes.
  size_t size;
  /// For `THALWEG_REST_APART`: an absolute path on the server's node; else `NULL`.
  const char *data_folder;
  /// For `THALWEG_DURABILITY_INTERVAL`: 0.001 to 3600 seconds.
  double interval_s;
  /// Events that are older go; 0: none goes for its age.
  double max_age_s;
  /// The oldest events go while there are more bytes; 0: none goes for its size.
  uint64_t max_size_bytes;
  /// `THALWEG_REST_MEMORY`, `THALWEG_REST_FILES` or `THALWEG_REST_APART`.
  uint32_t rest;
  /// `THALWEG_DURABILITY_NONE`, `THALWEG_DURABILITY_INTERVAL` or `THALWEG_DURABILITY_ALWAYS`.
  uint32_t durability;
  /// Whether events go that every named consumer has acknowledged: 1 or 0.
  int32_t drop_acknowledged;
  /// 0.
  uint32_t reserved;
} thalweg_partition;

/// The rules of a topic, for clients that obey them, as JSON; begin with `THALWEG_RULES_INIT`. This face stores and
/// tells them and pushes what it is given; Python obeys them.
typedef struct thalweg_rules {
  /// The size of this struct, in bytes.
  size_t size;
  /// Which metadata are accepted; `NULL`: `null`, all.
  const char *validator;
  /// Which partition an event goes to; `NULL`: `"round_robin"`.
  const char *selector;
  /// How metadata are written; `NULL`: `"json"`.
  const char *serializer;
} thalweg_rules;

/// How a producer is to be; begin with `THALWEG_PRODUCER_OPTIONS_INIT`.
typedef struct thalweg_producer_options {
  /// The size of this struct, in bytes.
  size_t size;
  /// Shared memory for batches under way; 0: 64 MiB. An event that does not fit goes alone, and is waited for.
  uint64_t outbox_bytes;
  /// How long it is tried to have a batch appended, in seconds: a server that is gone may come back.
  double timeout_s;
  /// Events that are sent together; 0: one at once when nothing is under way, else what has come meanwhile.
  uint32_t batch_size;
  /// The most batches under way, of one partition each.
  uint32_t max_batches;
  /// What becomes of events behind one that cannot be appended. 0: they fail too, as far as they were pushed before
  /// that is known; 1: they are appended.
  int32_t loose;
  /// 0.
  uint32_t reserved;
} thalweg_producer_options;

/// Bytes of one part of an event's data.
typedef struct thalweg_segment {
  /// The first byte; may be `NULL` where there are none.
  const void *bytes;
  /// How many.
  size_t size_bytes;
} thalweg_segment;

/// Bytes of many events, one behind the other, and where each ends.
typedef struct thalweg_column {
  /// The first byte; may be `NULL` where there are none.
  const void *bytes;
  /// How many bytes of all events.
  size_t size_bytes;
  /// Where the bytes of each event end, ascending; `count` members.
  const uint64_t *ends;
  /// How many events.
  size_t count;
} thalweg_column;

/// How a consumer is to be; begin with `THALWEG_CONSUMER_OPTIONS_INIT`.
typedef struct thalweg_consumer_options {
  /// The size of this struct, in bytes.
  size_t size;
  /// Members of one name share the partitions, and what they acknowledge is remembered under it; `NULL`: `default`.
  const char *name;
  /// The partitions that this member may have, `partition_count` of them; `NULL`: all.
  const uint32_t *partitions;
  /// How many `partitions` has.
  size_t partition_count;
  /// Where it begins in a partition in which its name has acknowledged nothing: `THALWEG_BEGIN_FIRST` or
  /// `THALWEG_BEGIN_NEXT`.
  uint32_t begin;
  /// Whether the name is forgotten, with all that it has acknowledged, when this member leaves and nobody else has
  /// it: 1 or 0.
  int32_t forget;
} thalweg_consumer_options;

/// Where a consumer is in a partition that it holds.
typedef struct thalweg_position {
  /// The number behind the last event that was acknowledged.
  uint64_t acknowledged;
  /// The number of the event that is pulled next.
  uint64_t next;
  /// The number of the first event that there is.
  uint64_t first;
  /// The number of the next event to come.
  uint64_t end;
  /// The partition.
  uint32_t partition;
  /// 0.
  uint32_t reserved;
} thalweg_position;

/// What events there are; begin with `THALWEG_EVENTS_INFO_INIT`.
typedef struct thalweg_events_info {
  /// The size of this struct, in bytes.
  size_t size;
  /// How many.
  size_t count;
  /// The number of the first in its partition; those of the others follow.
  uint64_t first;
  /// When they were appended, in seconds since 1970.
  double time_s;
  /// Their partition.
  uint32_t partition;
  /// Whether their data lie apart, so that `thalweg_consumer_read_data` must read them: 1 or 0.
  int32_t apart;
} thalweg_events_info;

/// How a file is redirected.
typedef struct thalweg_file_rule {
  /// `THALWEG_REDIRECT_MEMORY` or `THALWEG_REDIRECT_BOTH`.
  uint32_t mode;
  /// The components that use the file one after the other, separated by commas; `NULL`: there are no turns.
  const char *turns;
  /// How long to wait for another component, in seconds.
  double deadline_s;
} thalweg_file_rule;

/// A file that was opened.
typedef struct thalweg_opened {
  /// The number under which it is closed.
  uint64_t number;
  /// A descriptor of its bytes, which the caller closes.
  int descriptor;
  /// 1 when the file was there before, else 0.
  uint32_t existed;
} thalweg_opened;

/// A part of a variable: `extent[d]` values from `lower[d]` on, for each of its dimensions, the slowest first.
typedef struct thalweg_box {
  /// The variable's number in the file.
  uint32_t variable;
  /// How many dimensions it has.
  uint32_t dims;
  /// Where it begins.
  uint64_t lower[THALWEG_BOX_DIMS];
  /// How far it goes.
  uint64_t extent[THALWEG_BOX_DIMS];
} thalweg_box;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/// The message of the last call of this thread that did not return `THALWEG_OK`; empty when there was none.
///
/// The text belongs to Thalweg, and stays until the thread's next failing call. Never `NULL`.
const char *thalweg_last_error(void);

/// The name of a status, such as `"THALWEG_TIMEOUT"`; `"THALWEG_UNKNOWN"` for any other number.
const char *thalweg_status_name(int32_t status);

/// The release of the library that runs, such as `"0.1.0"`.
const char *thalweg_library_version(void);

/// Starts a server in this process, on threads of its own; it answers when this returns. `options` may be `NULL`.
///
/// Errors: `THALWEG_INVALID` for options outside what is accepted, `THALWEG_IO` when a name or port is taken.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_server_start(const struct thalweg_server_options *options,
                                         struct thalweg_server **server);

/// The address for clients on this node, `unix:NAME`, as long as the server runs. Errors: `THALWEG_INVALID`.
///
/// # Safety
/// `address` is `NULL` or writable.
enum thalweg_status thalweg_server_address(const struct thalweg_server *server, const char **address);

/// The address for clients on other nodes, `tcp:HOST:PORT`, as long as the server runs; `NULL` without `listen`.
/// Errors: `THALWEG_INVALID`.
///
/// # Safety
/// `address` is `NULL` or writable.
enum thalweg_status thalweg_server_tcp_address(const struct thalweg_server *server,
                                               const char **address);

/// Stops the server: clients get `THALWEG_GONE`, views that they hold stay valid. Blocks until its threads have
/// ended. Nothing for `NULL`; `THALWEG_INVALID` when it was stopped before.
enum thalweg_status thalweg_server_stop(struct thalweg_server *server);

/// Connects to the staging service. `options` may be `NULL`.
///
/// Errors: `THALWEG_GONE` when no server answers, `THALWEG_ACCESS` when the token is wrong, `THALWEG_INVALID` for an
/// address of another form. Blocks until the servers answer, or `timeout_s` has passed.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_connect(const struct thalweg_connect_options *options,
                                    struct thalweg_client **client);

/// Ends the connection; variables, views and loans that came from it stay usable until they are released. Nothing for
/// `NULL`; `THALWEG_INVALID` when it was ended before.
enum thalweg_status thalweg_disconnect(struct thalweg_client *client);

/// Defines the variable `variable_name`, or agrees with the definition that is there already.
///
/// Errors: `THALWEG_EXISTS` when it is defined otherwise, with both definitions; `THALWEG_SHAPE` for a domain without
/// cells or with more than 2^63 - 1 bytes; `THALWEG_DTYPE`, `THALWEG_INVALID`. Blocks until the servers answer.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_define(const struct thalweg_client *client,
                                   const char *variable_name,
                                   const struct thalweg_definition *definition_,
                                   double timeout_s,
                                   struct thalweg_variable **variable);

/// Opens the variable `variable_name`. Blocks until somebody has defined it.
///
/// Errors: `THALWEG_TIMEOUT` when nobody has in time, with who is connected.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_open(const struct thalweg_client *client,
                                 const char *variable_name,
                                 double timeout_s,
                                 struct thalweg_variable **variable);

/// How the variable is. The lists in `*definition` live until `thalweg_close`. Errors: `THALWEG_INVALID`.
///
/// # Safety
/// `definition` is `NULL` or a definition that was initialised with `THALWEG_DEFINITION_INIT`.
enum thalweg_status thalweg_describe(const struct thalweg_variable *variable,
                                     struct thalweg_definition *definition);

/// Forgets the handle; the variable stays in the service. Nothing for `NULL`; `THALWEG_INVALID` when it was closed
/// before.
enum thalweg_status thalweg_close(struct thalweg_variable *variable);

/// Says that `writer`, one of the variable's writers and counted from 0, has put all that it will of `version`. Once
/// every writer has, it is complete; a variable with `writers` 0 needs no seals.
///
/// Errors: `THALWEG_INVALID` for a writer that the variable does not have. Blocks until the servers answer.
enum thalweg_status thalweg_seal(const struct thalweg_variable *variable,
                                 uint64_t version,
                                 uint32_t writer,
                                 double timeout_s);

/// Says that nobody needs `version` any more; views of it stay valid. Blocks until the servers answer.
///
/// `existed` may be `NULL`; it becomes 1 when the version was there, else 0.
///
/// # Safety
/// `existed` is `NULL` or writable.
enum thalweg_status thalweg_release(const struct thalweg_variable *variable,
                                    uint64_t version,
                                    double timeout_s,
                                    int32_t *existed);

/// Lists the versions that are there, in order: up to `capacity` of them into `states`, and how many there are into
/// `*count`.
///
/// `states` may be `NULL` with `capacity` 0. Blocks until the servers answer.
///
/// # Safety
/// `states` has room for `capacity` members, `count` is `NULL` or writable.
enum thalweg_status thalweg_versions(const struct thalweg_variable *variable,
                                     double timeout_s,
                                     struct thalweg_version_state *states,
                                     size_t capacity,
                                     size_t *count);

/// Copies a region into the service: one copy, whatever its layout. The caller may change its array afterwards.
///
/// `region` lies in the variable's domain; `data` is its first cell, of `dtype`, lying as `layout` says (`NULL`:
/// packed and row-major). The cells of a version are written once: where two puts of one version overlap, the first
/// one stays.
///
/// Errors: `THALWEG_SHAPE` when the region lies outside, has other dimensions or no cells; `THALWEG_DTYPE`;
/// `THALWEG_EXISTS` when the version is sealed, `THALWEG_NOT_FOUND` when it was released or dropped; `THALWEG_FULL`,
/// `THALWEG_TIMEOUT`, `THALWEG_GONE`. Blocks when memory is full and the server's policy is to wait.
///
/// # Safety
/// Pointers are `NULL` or valid; every cell of the region can be read at `data`.
enum thalweg_status thalweg_put(const struct thalweg_variable *variable,
                                uint64_t version,
                                const struct thalweg_region *region,
                                const void *data,
                                thalweg_dtype dtype,
                                const struct thalweg_layout *layout,
                                double timeout_s);

/// As `thalweg_put`, but this process keeps the copy and readers fetch it here: until the process ends, the version
/// is released, or retention drops it.
///
/// # Safety
/// As `thalweg_put`.
enum thalweg_status thalweg_put_local(const struct thalweg_variable *variable,
                                      uint64_t version,
                                      const struct thalweg_region *region,
                                      const void *data,
                                      thalweg_dtype dtype,
                                      const struct thalweg_layout *layout,
                                      double timeout_s);

/// A read-only view of a region. Blocks until the region is complete.
///
/// `layout` may be `NULL` for whatever is cheapest; `thalweg_view_describe` says what it came to. There is no copy
/// when one piece, or one replica, holds the region in that layout. End the view with `thalweg_view_release`.
///
/// Errors: `THALWEG_TIMEOUT`, with what is still missing; `THALWEG_NOT_FOUND` when the version was released or
/// dropped; `THALWEG_SHAPE` when the region lies outside; `THALWEG_GONE`.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_get(const struct thalweg_variable *variable,
                                struct thalweg_which which,
                                const struct thalweg_region *region,
                                const struct thalweg_layout *layout,
                                uint32_t strategy,
                                double timeout_s,
                                struct thalweg_view **view);

/// Copies a region into the caller's array, brought into its layout on the way. Blocks until the region is complete.
///
/// `data` is the first cell, of `dtype`, lying as `layout` says (`NULL`: packed and row-major); `*version` becomes
/// the version that it was, and may be `NULL`. Nothing is written unless the call succeeds, or fails with
/// `THALWEG_GONE` on the way.
///
/// Errors: as `thalweg_get`, and `THALWEG_DTYPE`.
///
/// # Safety
/// Pointers are `NULL` or valid; every cell of the region can be written at `data`, and no two share memory.
enum thalweg_status thalweg_get_into(const struct thalweg_variable *variable,
                                     struct thalweg_which which,
                                     const struct thalweg_region *region,
                                     void *data,
                                     thalweg_dtype dtype,
                                     const struct thalweg_layout *layout,
                                     uint32_t strategy,
                                     double timeout_s,
                                     uint64_t *version);

/// What the view shows; its memory stays until `thalweg_view_release`. Errors: `THALWEG_INVALID` when it was
/// released.
///
/// # Safety
/// `info` is `NULL` or was initialised with `THALWEG_VIEW_INFO_INIT`.
enum thalweg_status thalweg_view_describe(const struct thalweg_view *view, struct thalweg_view_info *info);

/// Ends the view: its memory must not be read any more. Nothing for `NULL`; `THALWEG_INVALID` when it was released
/// before.
enum thalweg_status thalweg_view_release(struct thalweg_view *view);

/// Memory of the service for a region, packed in `layout` (`NULL`: row-major), to be filled and then committed.
///
/// `*data` becomes its first cell; the memory is not initialised. `strides_bytes` may be `NULL`, or have room for
/// `THALWEG_MAX_DIMS` members: bytes from one cell to the next along each axis.
///
/// Errors: as `thalweg_put`, and `THALWEG_INVALID` for a region that several servers hold. Blocks as `thalweg_put`.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_loan_take(const struct thalweg_variable *variable,
                                      uint64_t version,
                                      const struct thalweg_region *region_,
                                      const struct thalweg_layout *layout,
                                      double timeout_s,
                                      struct thalweg_loan **loan,
                                      void **data,
                                      int64_t *strides_bytes);

/// Publishes what was filled, and ends the loan: its memory must not be used any more, also when this fails.
///
/// Errors: `THALWEG_INVALID` when the loan has ended, `THALWEG_EXISTS` when the version was sealed meanwhile,
/// `THALWEG_NOT_FOUND` when it is past, `THALWEG_GONE`. Blocks until the server answers.
enum thalweg_status thalweg_loan_commit(struct thalweg_loan *loan, double timeout_s);

/// Gives the memory back and publishes nothing. Nothing for `NULL`; `THALWEG_INVALID` when the loan has ended.
enum thalweg_status thalweg_loan_discard(struct thalweg_loan *loan);

/// Begins a `thalweg_put`; `*request` says what became of it. `data` must not be changed until the request has ended.
///
/// Errors: `THALWEG_FULL` when `THALWEG_MAX_REQUESTS` go on; for arguments as `thalweg_put`. Does not block.
///
/// # Safety
/// As `thalweg_put`, and `data` can be read until the request has ended.
enum thalweg_status thalweg_iput(const struct thalweg_variable *variable,
                                 uint64_t version,
                                 const struct thalweg_region *region,
                                 const void *data,
                                 thalweg_dtype dtype,
                                 const struct thalweg_layout *layout,
                                 double timeout_s,
                                 struct thalweg_request **request);

/// Begins a `thalweg_get`; once the request has ended, `thalweg_request_view` gives the view.
///
/// Errors: `THALWEG_FULL` when `THALWEG_MAX_REQUESTS` go on; for arguments as `thalweg_get`. Does not block.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_iget(const struct thalweg_variable *variable,
                                 struct thalweg_which which,
                                 const struct thalweg_region *region,
                                 const struct thalweg_layout *layout,
                                 uint32_t strategy,
                                 double timeout_s,
                                 struct thalweg_request **request);

/// Begins a `thalweg_get_into`. `data` must be left alone until the request has ended.
///
/// Errors: `THALWEG_FULL` when `THALWEG_MAX_REQUESTS` go on; for arguments as `thalweg_get_into`. Does not block.
///
/// # Safety
/// As `thalweg_get_into`, and `data` is left alone until the request has ended.
enum thalweg_status thalweg_iget_into(const struct thalweg_variable *variable,
                                      struct thalweg_which which,
                                      const struct thalweg_region *region,
                                      void *data,
                                      thalweg_dtype dtype,
                                      const struct thalweg_layout *layout,
                                      uint32_t strategy,
                                      double timeout_s,
                                      struct thalweg_request **request);

/// Says in `*ended` whether the request has ended: 1 or 0; `thalweg_wait` then says how. Does not block.
///
/// # Safety
/// `ended` is `NULL` or writable.
enum thalweg_status thalweg_test(const struct thalweg_request *request, int32_t *ended);

/// Waits until the request has ended, and returns what the put or get would have returned; `THALWEG_TIMEOUT` with a
/// message that begins with `request.wait` when it goes on. `*version`, which may be `NULL`, becomes the version that
/// was put or got.
///
/// # Safety
/// `version` is `NULL` or writable.
enum thalweg_status thalweg_wait(const struct thalweg_request *request,
                                 double timeout_s,
                                 uint64_t *version);

/// Hands out the view of a `thalweg_iget` that has ended, once; it lives on after the request. Does not block.
///
/// Errors: `THALWEG_INVALID` when the request goes on, was no `thalweg_iget`, or has handed its view out; what the
/// get failed with.
///
/// # Safety
/// `view` is `NULL` or writable.
enum thalweg_status thalweg_request_view(const struct thalweg_request *request,
                                         struct thalweg_view **view);

/// Asks the request to end soon, with `THALWEG_INTERRUPTED` unless it is done before. Does not block.
enum thalweg_status thalweg_cancel(const struct thalweg_request *request);

/// Forgets the request; one that goes on is cancelled first. After it the caller's array is its own again. Blocks for
/// a fraction of a second at most, unless a copy is under way. Nothing for `NULL`; `THALWEG_INVALID` when it was
/// released before.
enum thalweg_status thalweg_request_release(struct thalweg_request *request);

/// Count, least, greatest and sum of a region's cells, and their histogram when `bins` is not `NULL`, made in the
/// service. Blocks until the region is complete.
///
/// `histogram` has room for `bins->count` numbers of cells; `NULL` when `bins` is.
///
/// Errors: as `thalweg_get`; `THALWEG_DTYPE` for what is no number, `THALWEG_INVALID` for bins that are none.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_reduce(const struct thalweg_variable *variable,
                                   struct thalweg_which which_,
                                   const struct thalweg_region *region_,
                                   const struct thalweg_bins *bins,
                                   double timeout_s,
                                   struct thalweg_summary *summary,
                                   uint64_t *histogram);

/// Notes `value` under `key` for those who read the variable; an empty value, or `NULL`, removes it. Blocks until the
/// servers answer. Errors: `THALWEG_INVALID`.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_set_attribute(const struct thalweg_variable *variable,
                                          const char *key,
                                          const char *value,
                                          double timeout_s);

/// Copies what was noted under `key` into `buffer`, with a final NUL and as much as fits, and its length in bytes
/// into `*length`, as `snprintf` would. `buffer` may be `NULL` with `capacity_bytes` 0; `length` may be `NULL`.
/// Blocks until the servers answer.
///
/// Errors: `THALWEG_NOT_FOUND` when nothing was noted under it, with what there is.
///
/// # Safety
/// Pointers are `NULL` or valid; `buffer` has `capacity_bytes` bytes.
enum thalweg_status thalweg_attribute(const struct thalweg_variable *variable,
                                      const char *key,
                                      double timeout_s,
                                      char *buffer,
                                      size_t capacity_bytes,
                                      size_t *length);

/// The keys under which something was noted, in order. Blocks until the servers answer.
///
/// # Safety
/// `keys` is `NULL` or writable.
enum thalweg_status thalweg_attributes(const struct thalweg_variable *variable,
                                       double timeout_s,
                                       struct thalweg_names **keys);

/// The names of the variables that are defined, in order. Blocks until the servers answer.
///
/// # Safety
/// `names` is `NULL` or writable.
enum thalweg_status thalweg_variables(const struct thalweg_client *client,
                                      double timeout_s,
                                      struct thalweg_names **names);

/// How many names there are; 0 for what is no list.
size_t thalweg_names_count(const struct thalweg_names *names);

/// The name at `index`, which lives as long as the list; `NULL` for an index outside, or what is no list.
const char *thalweg_names_at(const struct thalweg_names *names, size_t index);

/// Forgets the list. Nothing for `NULL`; `THALWEG_INVALID` when it was released before.
enum thalweg_status thalweg_names_release(struct thalweg_names *names);

/// Copies a whole array into the service: one copy, whatever its layout. `extent->lower` is zero; `replace` (0 or 1):
/// whether a version that is there may be replaced.
///
/// Errors: `THALWEG_EXISTS`, `THALWEG_FULL`, `THALWEG_TIMEOUT`, `THALWEG_GONE`, `THALWEG_SHAPE`, `THALWEG_DTYPE`.
/// Blocks when memory is full and the server's policy is to wait.
///
/// # Safety
/// Pointers are `NULL` or valid; every element can be read at `data`.
enum thalweg_status thalweg_array_put(const struct thalweg_client *client,
                                      const char *array_name,
                                      uint64_t version,
                                      const struct thalweg_region *extent,
                                      const void *data,
                                      thalweg_dtype dtype,
                                      const struct thalweg_layout *layout,
                                      int32_t replace,
                                      double timeout_s);

/// A read-only view of a whole array, row-major, without a copy where memory is shared. Blocks until it is put.
///
/// Errors: `THALWEG_TIMEOUT`, with who is connected; `THALWEG_GONE`, `THALWEG_FULL`.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_array_get(const struct thalweg_client *client,
                                      const char *array_name,
                                      uint64_t version,
                                      double timeout_s,
                                      struct thalweg_view **view);

/// Copies a whole array into the caller's, which has the same extents and type and any layout. Blocks until it is
/// put.
///
/// Errors: as `thalweg_array_get`; `THALWEG_SHAPE` or `THALWEG_DTYPE` when the two differ.
///
/// # Safety
/// Pointers are `NULL` or valid; every element can be written at `data`, and no two share memory.
enum thalweg_status thalweg_array_get_into(const struct thalweg_client *client,
                                           const char *array_name,
                                           uint64_t version,
                                           const struct thalweg_region *extent,
                                           void *data,
                                           thalweg_dtype dtype,
                                           const struct thalweg_layout *layout,
                                           double timeout_s);

/// Says in `*there` whether a whole array is there now: 1 or 0. On one node it takes no message.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_array_exists(const struct thalweg_client *client,
                                         const char *array_name,
                                         uint64_t version,
                                         double timeout_s,
                                         int32_t *there);

/// Removes a whole array; views of it stay valid. `*existed`, which may be `NULL`, becomes 1 when it was there, else
/// 0.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_array_delete(const struct thalweg_client *client,
                                         const char *array_name,
                                         uint64_t version,
                                         double timeout_s,
                                         int32_t *existed);

/// Connects to the stream service of the server at the one address of `options`; a server that is not there yet is
/// waited for. `options` may be `NULL`; topics have no namespaces, so `name_space` stays `NULL`.
///
/// Errors: `THALWEG_GONE` when no server answers, `THALWEG_ACCESS` when the token is wrong, `THALWEG_INVALID` for an
/// address of another form, several of them, or a namespace. Blocks until the server answers, or `timeout_s` has
/// passed.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_stream_connect(const struct thalweg_connect_options *options,
                                           struct thalweg_stream_driver **driver);

/// Ends the connection; producers and consumers that came from it have their own and go on. Nothing for `NULL`;
/// `THALWEG_INVALID` when it was ended before.
enum thalweg_status thalweg_stream_disconnect(struct thalweg_stream_driver *driver);

/// Makes a topic of `partitions` partitions that are all as `partition` says; `NULL`: in memory, without durability
/// and limits. `rules` may be `NULL`.
///
/// Errors: `THALWEG_EXISTS`, `THALWEG_INVALID` for what cannot be: 0 partitions, files where the server has no folder
/// of topics. Blocks until the server answers.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_topic_create(const struct thalweg_stream_driver *driver,
                                         const char *topic_name,
                                         uint32_t partitions,
                                         const struct thalweg_partition *partition,
                                         const struct thalweg_rules *rules,
                                         double timeout_s);

/// Removes a topic with its events. Errors: `THALWEG_NOT_FOUND`. Blocks until the server answers.
///
/// # Safety
/// `topic_name` is `NULL` or a C string.
enum thalweg_status thalweg_topic_delete(const struct thalweg_stream_driver *driver,
                                         const char *topic_name,
                                         double timeout_s);

/// Adds a partition, behind those that are there, to a topic; producers that are open go on without it. `partition`
/// may be `NULL`.
///
/// Errors: `THALWEG_NOT_FOUND`, `THALWEG_INVALID`, `THALWEG_FULL`. Blocks until the server answers.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_topic_add_partition(const struct thalweg_stream_driver *driver,
                                                const char *topic_name,
                                                const struct thalweg_partition *partition,
                                                double timeout_s);

/// The names of all topics, in order. Blocks until the server answers.
///
/// # Safety
/// `names` is `NULL` or writable.
enum thalweg_status thalweg_topics(const struct thalweg_stream_driver *driver,
                                   double timeout_s,
                                   struct thalweg_names **names);

/// What a topic is at this moment. Errors: `THALWEG_NOT_FOUND`. Blocks until the server answers.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_topic_describe(const struct thalweg_stream_driver *driver,
                                           const char *topic_name,
                                           double timeout_s,
                                           struct thalweg_topic **topic);

/// How many partitions the topic has; 0 for what is no topic.
uint32_t thalweg_topic_partition_count(const struct thalweg_topic *topic);

/// How partition `number` is, the number of its first event and of the next to come; each may be `NULL`. The text of
/// `*partition` lives as long as the topic.
///
/// Errors: `THALWEG_INVALID` for a number outside. Does not block.
///
/// # Safety
/// `partition` is `NULL` or was initialised with `THALWEG_PARTITION_INIT`; the others are `NULL` or writable.
enum thalweg_status thalweg_topic_partition(const struct thalweg_topic *topic,
                                            uint32_t number,
                                            struct thalweg_partition *partition,
                                            uint64_t *first,
                                            uint64_t *next);

/// The rules of the topic; their texts live as long as the topic. Does not block.
///
/// # Safety
/// `rules` is `NULL` or was initialised with `THALWEG_RULES_INIT`.
enum thalweg_status thalweg_topic_rules(const struct thalweg_topic *topic, struct thalweg_rules *rules);

/// Forgets what the topic is. Nothing for `NULL`; `THALWEG_INVALID` when it was released before.
enum thalweg_status thalweg_topic_release(struct thalweg_topic *topic);

/// Opens a producer of a topic, over a connection of its own. `options` may be `NULL`.
///
/// Errors: `THALWEG_NOT_FOUND`, `THALWEG_INVALID` for options outside what is accepted. Blocks until the server
/// answers.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_producer_open(const struct thalweg_stream_driver *driver,
                                          const char *topic_name,
                                          const struct thalweg_producer_options *options,
                                          double timeout_s,
                                          struct thalweg_producer **producer);

/// Hands over an event of `partition`: its metadata, and data of `segment_count` parts that are laid one behind the
/// other. All is copied before this returns. Where `pushed` is not `NULL`, `*pushed` says what becomes of the event;
/// else the next `thalweg_producer_flush` does.
///
/// Errors: `THALWEG_INVALID` for a partition that is not there; `THALWEG_FULL` for more than 8 MiB of metadata, or
/// an event that is too large; `THALWEG_GONE` when the server has been for the producer's time-out; `THALWEG_TIMEOUT`.
/// Blocks only when as many batches are under way as may be and the next one is full, or for an event that is larger
/// than the producer's memory.
///
/// # Safety
/// Pointers are `NULL` or valid, and parts have as many readable bytes as they say.
enum thalweg_status thalweg_producer_push(const struct thalweg_producer *producer,
                                          uint32_t partition,
                                          const void *metadata,
                                          size_t metadata_bytes,
                                          const struct thalweg_segment *segments,
                                          size_t segment_count,
                                          double timeout_s,
                                          struct thalweg_pushed **pushed);

/// Hands over as many events of `partition` as `metadata->count` says; without data when `data` is `NULL`. All is
/// copied before this returns; `pushed` as in `thalweg_producer_push`.
///
/// Errors: as `thalweg_producer_push`, and then the first of the events may have been taken; `THALWEG_INVALID` when the
/// columns differ in their count, or ends do not ascend within the bytes. Blocks as `thalweg_producer_push`.
///
/// # Safety
/// Pointers are `NULL` or valid, and columns have as many readable bytes and ends as they say.
enum thalweg_status thalweg_producer_push_many(const struct thalweg_producer *producer,
                                               uint32_t partition,
                                               const struct thalweg_column *metadata,
                                               const struct thalweg_column *data,
                                               double timeout_s,
                                               struct thalweg_pushed **pushed);

/// Waits until all that was pushed before has come to its end.
///
/// Errors: what the first event that failed since the last flush failed with; `THALWEG_TIMEOUT`.
enum thalweg_status thalweg_producer_flush(const struct thalweg_producer *producer, double timeout_s);

/// Flushes and ends the producer; it is no more also when flushing fails. Nothing for `NULL`; `THALWEG_INVALID` when it
/// was closed before, else errors as `thalweg_producer_flush`. Blocks as that one.
enum thalweg_status thalweg_producer_close(struct thalweg_producer *producer,
                                           double timeout_s);

/// Says in `*done` whether it is known what became of all its events: 1 or 0; `thalweg_pushed_wait` then says what.
/// Does not block.
///
/// # Safety
/// `done` is `NULL` or writable.
enum thalweg_status thalweg_pushed_done(const struct thalweg_pushed *pushed,
                                        int32_t *done);

/// Waits until its events are appended; `*offset`, which may be `NULL`, becomes the number in its partition of event
/// `index` of them, counted from 0.
///
/// Errors: `THALWEG_TIMEOUT` when they still may be appended, else why one was not; `THALWEG_INVALID` for an index
/// outside.
///
/// # Safety
/// `offset` is `NULL` or writable.
enum thalweg_status thalweg_pushed_wait(const struct thalweg_pushed *pushed,
                                        uint64_t index,
                                        double timeout_s,
                                        uint64_t *offset);

/// Forgets what becomes of the events, and changes nothing about it. Nothing for `NULL`; `THALWEG_INVALID` when it was
/// released before.
enum thalweg_status thalweg_pushed_release(struct thalweg_pushed *pushed);

/// Joins a named consumer of a topic, over a connection of its own; it goes on behind what its name has acknowledged.
/// `options` may be `NULL`.
///
/// Errors: `THALWEG_NOT_FOUND` for the topic, `THALWEG_INVALID` for options outside what is accepted. Blocks until the
/// server answers.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_consumer_open(const struct thalweg_stream_driver *driver,
                                          const char *topic_name,
                                          const struct thalweg_consumer_options *options,
                                          double timeout_s,
                                          struct thalweg_consumer **consumer);

/// Pulls the next events of one partition: at least one, at most `most`. They are of one batch, in the order in which
/// they were appended; the partitions have their turns.
///
/// Errors: `THALWEG_TIMEOUT` when none came, and then nothing was taken; `THALWEG_INTERRUPTED` when the consumer was
/// closed meanwhile; `THALWEG_CORRUPT` when stored events are not what was written: the next call goes on behind
/// them; `THALWEG_NOT_FOUND`, `THALWEG_GONE`. Blocks until there is an event, or `timeout_s` has passed.
///
/// # Safety
/// `events` is `NULL` or writable.
enum thalweg_status thalweg_consumer_pull(const struct thalweg_consumer *consumer,
                                          uint32_t most,
                                          double timeout_s,
                                          struct thalweg_events **events);

/// Copies bytes `begin` to `end`, which is excluded, of the data of event `index` of `events`, counted from its first,
/// to `into`; what is not asked for is not read. `events` were pulled by this consumer.
///
/// Errors: `THALWEG_INVALID` for a range outside of the data, `THALWEG_CORRUPT`, `THALWEG_NOT_FOUND` when retention has
/// let go of them. Blocks until they are read, from the file where the server is on this node.
///
/// # Safety
/// `into` has `end - begin` writable bytes.
enum thalweg_status thalweg_consumer_read_data(const struct thalweg_consumer *consumer,
                                               const struct thalweg_events *events,
                                               uint32_t index,
                                               uint64_t begin,
                                               uint64_t end,
                                               void *into,
                                               double timeout_s);

/// Says that the events of `partition` before number `next` need not be given to this name again; a lower number than
/// before changes nothing. It is remembered soon, and when `thalweg_consumer_close` returns. Errors: `THALWEG_GONE`.
/// Does not block.
enum thalweg_status thalweg_consumer_acknowledge(const struct thalweg_consumer *consumer,
                                                 uint32_t partition,
                                                 uint64_t next);

/// Pulls `partition` from event `next` on; what was acknowledged stays so.
///
/// Errors: `THALWEG_INVALID` for a partition that it does not hold, or an event that is not there and not the next to
/// come. Blocks until the server answers.
enum thalweg_status thalweg_consumer_seek(const struct thalweg_consumer *consumer,
                                          uint32_t partition,
                                          uint64_t next,
                                          double timeout_s);

/// Pulls `partition` from the first event on that was appended at `time_s`, in seconds since 1970, or later.
///
/// Errors: as `thalweg_consumer_seek`. Blocks until the server answers.
enum thalweg_status thalweg_consumer_seek_time(const struct thalweg_consumer *consumer,
                                               uint32_t partition,
                                               double time_s,
                                               double timeout_s);

/// Where it is in the partitions that it holds: up to `capacity` of them at `positions`, and how many there are at
/// `count`. Blocks until the server answers.
///
/// # Safety
/// `positions` is `NULL` or has room for `capacity` members; `count` is `NULL` or writable.
enum thalweg_status thalweg_consumer_positions(const struct thalweg_consumer *consumer,
                                               double timeout_s,
                                               struct thalweg_position *positions,
                                               size_t capacity,
                                               size_t *count);

/// Leaves: its partitions go to the other members of its name, who pulls is woken, and what was acknowledged is
/// remembered, unless the options said to forget it. Events that were pulled stay until they are released; data of theirs that lie apart cannot be read any
/// more.
///
/// Nothing for `NULL`; `THALWEG_INVALID` when it was closed before; it is closed also when the server cannot be told.
/// Blocks until the server answers.
enum thalweg_status thalweg_consumer_close(struct thalweg_consumer *consumer,
                                           double timeout_s);

/// What events there are. Errors: `THALWEG_INVALID` when they were released. Does not block.
///
/// # Safety
/// `info` is `NULL` or was initialised with `THALWEG_EVENTS_INFO_INIT`.
enum thalweg_status thalweg_events_describe(const struct thalweg_events *events,
                                            struct thalweg_events_info *info);

/// The metadata of event `index`, counted from 0; they stay until `thalweg_events_release`, and must not be written.
///
/// Errors: `THALWEG_INVALID` for an index outside. Does not block.
///
/// # Safety
/// `metadata` and `size_bytes` are `NULL` or writable.
enum thalweg_status thalweg_events_metadata(const struct thalweg_events *events,
                                            uint32_t index,
                                            const void **metadata,
                                            size_t *size_bytes);

/// The metadata of all events, one behind the other. `ends`, which may be `NULL`, has room for as many members as there
/// are events, and `column->ends` becomes `ends`; the bytes stay until `thalweg_events_release`, and must not be
/// written. Does not block.
///
/// # Safety
/// `column` is `NULL` or writable; `ends` is `NULL` or has so much room.
enum thalweg_status thalweg_events_metadata_column(const struct thalweg_events *events,
                                                   uint64_t *ends,
                                                   struct thalweg_column *column);

/// The data of event `index`, counted from 0, and their size; `*data` becomes `NULL` where they lie apart. They stay until
/// `thalweg_events_release`, and must not be written. `data` may be `NULL`.
///
/// Errors: `THALWEG_INVALID` for an index outside. Does not block.
///
/// # Safety
/// `data` and `size_bytes` are `NULL` or writable.
enum thalweg_status thalweg_events_data(const struct thalweg_events *events,
                                        uint32_t index,
                                        const void **data,
                                        uint64_t *size_bytes);

/// Ends the events: their metadata and data must not be read any more. Nothing for `NULL`; `THALWEG_INVALID` when they
/// were released before.
enum thalweg_status thalweg_events_release(struct thalweg_events *events);

/// Connects to the redirect service at `address`, `unix:NAME`, as a process of `component` in `coupling`. Blocks at most
/// `timeout_s`.
///
/// Errors: `THALWEG_GONE` when nobody answers, `THALWEG_INVALID` for an address or a name that is none.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_redirect_connect(const char *address,
                                             const char *coupling,
                                             const char *component,
                                             double timeout_s,
                                             struct thalweg_redirect **redirect);

/// Opens the file at `path`, an absolute path, for `access`, one of `THALWEG_ACCESS_…`; `flags` are of `THALWEG_OPEN_…`. Blocks
/// until it is the component's turn, or until other components have written the file, at most for the rule's deadline.
///
/// Errors: `THALWEG_TIMEOUT`, `THALWEG_NOT_FOUND`, `THALWEG_EXISTS`; `THALWEG_ACCESS` for a component without a turn;
/// `THALWEG_GONE` when another component failed.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_redirect_open(const struct thalweg_redirect *redirect,
                                          const char *path,
                                          const struct thalweg_file_rule *rule,
                                          uint32_t access,
                                          uint32_t flags,
                                          struct thalweg_opened *opened);

/// A descriptor of the bytes of the file at `path`, which the caller closes. Blocks until it is the component's turn, where
/// there are turns. Errors: `THALWEG_NOT_FOUND`, and as `thalweg_redirect_open`.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_redirect_find(const struct thalweg_redirect *redirect,
                                          const char *path,
                                          const struct thalweg_file_rule *rule,
                                          int *descriptor);

/// Has done with the file that `thalweg_redirect_open` gave this number; its descriptor is closed apart. Errors:
/// `THALWEG_INVALID` for a number that is not open, `THALWEG_GONE` when another process that had the file open failed.
enum thalweg_status thalweg_redirect_close(const struct thalweg_redirect *redirect,
                                           uint64_t number);

/// As `thalweg_redirect_close`, for others: their turns go on, and readers find the file complete. Who says so still looks at it, and
/// closes it later.
enum thalweg_status thalweg_redirect_hand_over(const struct thalweg_redirect *redirect,
                                               uint64_t number);

/// Tells what was put into variables of the file that `thalweg_redirect_open` gave this number, for writing: `whole` are
/// all of them, each from zeros to its shape, and `parts` what was put into them. More may follow. Who closes a file without a word may have written all of it.
///
/// # Safety
/// `whole` points to `variables` boxes, `parts` to `count`.
enum thalweg_status thalweg_redirect_wrote(const struct thalweg_redirect *redirect,
                                           uint64_t number,
                                           const struct thalweg_box *whole,
                                           size_t variables,
                                           const struct thalweg_box *parts,
                                           size_t count);

/// What nobody has written of the file that `thalweg_redirect_open` gave this number: `count` regions, of which the first
/// `room` go to `holes`. There are none for a component that wrote some of the file itself.
///
/// # Safety
/// `holes` has room for `room` boxes; `count` is `NULL` or valid.
enum thalweg_status thalweg_redirect_holes(const struct thalweg_redirect *redirect,
                                           uint64_t number,
                                           struct thalweg_box *holes,
                                           size_t room,
                                           size_t *count);

/// Tells that this component cannot go on, for the reason `why`; the others of the coupling hear of it.
///
/// # Safety
/// `why` is `NULL` or a C string.
enum thalweg_status thalweg_redirect_fail(const struct thalweg_redirect *redirect, const char *why);

/// Removes the file at `path`; who has it open keeps it. Errors: `THALWEG_NOT_FOUND`.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_redirect_remove(const struct thalweg_redirect *redirect, const char *path);

/// Renames the file at `from` to `to`, which matches `rule`; one that was called `to` is gone. Errors: `THALWEG_NOT_FOUND`.
///
/// # Safety
/// Pointers are `NULL` or valid.
enum thalweg_status thalweg_redirect_rename(const struct thalweg_redirect *redirect,
                                            const char *from,
                                            const char *to,
                                            const struct thalweg_file_rule *rule);

/// Ends the connection. What is open for writing counts as not finished. Nothing for `NULL`; `THALWEG_INVALID` when it
/// was ended before.
enum thalweg_status thalweg_redirect_disconnect(struct thalweg_redirect *redirect);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* THALWEG_H */
