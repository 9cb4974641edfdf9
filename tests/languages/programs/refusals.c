/* What C must not give, each refused with a status and a message, and nothing lost for the calls that follow. */
#include "expect.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>

static const double soon_s = 0.05, timeout_s = 30.0;
static thalweg_client *client;
static thalweg_variable *rho;
static const thalweg_region whole = {2, {0, 0}, {4, 6}};
static double cells[4][6];

static void null_pointers(void) {
  thalweg_variable *variable;
  thalweg_view *view;
  thalweg_definition definition = THALWEG_DEFINITION_INIT;
  EXPECT(THALWEG_INVALID, "stage.connect: client is NULL", thalweg_connect(NULL, NULL));
  EXPECT(THALWEG_INVALID, "stage.define: variable_name is NULL",
         thalweg_define(client, NULL, &definition, timeout_s, &variable));
  EXPECT(THALWEG_INVALID, "stage.define: definition is NULL", thalweg_define(client, "u", NULL, timeout_s, &variable));
  EXPECT(THALWEG_INVALID, "stage.open: variable is NULL", thalweg_open(client, "rho", timeout_s, NULL));
  EXPECT(THALWEG_INVALID, "stage.open: client is NULL", thalweg_open(NULL, "rho", timeout_s, &variable));
  EXPECT(THALWEG_INVALID, "stage.put: region is NULL",
         thalweg_put(rho, 1, NULL, cells, THALWEG_FLOAT64, NULL, timeout_s));
  EXPECT(THALWEG_INVALID, "stage.put: data is NULL, the region has 192 bytes",
         thalweg_put(rho, 1, &whole, NULL, THALWEG_FLOAT64, NULL, timeout_s));
  EXPECT(THALWEG_INVALID, "stage.put: variable is NULL",
         thalweg_put(NULL, 1, &whole, cells, THALWEG_FLOAT64, NULL, timeout_s));
  EXPECT(THALWEG_INVALID, "stage.get: view is NULL",
         thalweg_get(rho, THALWEG_EXACTLY(0), &whole, NULL, THALWEG_STRATEGY_DEFAULT, timeout_s, NULL));
  EXPECT(THALWEG_INVALID, "view.describe: view info is NULL",
         (OK(thalweg_get(rho, THALWEG_EXACTLY(0), &whole, NULL, THALWEG_STRATEGY_DEFAULT, timeout_s, &view)),
          thalweg_view_describe(view, NULL)));
  OK(thalweg_view_release(view));
  EXPECT(THALWEG_INVALID, "server.address: address is NULL", thalweg_server_address(NULL, NULL));
  TRUE(thalweg_names_at(NULL, 0) == NULL);
  TRUE(thalweg_names_count(NULL) == 0);
}

static void definitions(void) {
  thalweg_variable *variable;
  thalweg_definition d = THALWEG_DEFINITION_INIT;
  d.dtype = THALWEG_FLOAT64;
  d.dims = 2;
  d.domain[0] = 4;
  EXPECT(THALWEG_SHAPE, "domain (4, 0)", thalweg_define(client, "u", &d, timeout_s, &variable));
  d.domain[0] = UINT64_C(1) << 40;
  d.domain[1] = UINT64_C(1) << 30;
  EXPECT(THALWEG_SHAPE, "(1099511627776, 1073741824) of float64 overflows",
         thalweg_define(client, "u", &d, timeout_s, &variable));
  d.dims = 9;
  EXPECT(THALWEG_SHAPE, "definition.dims = 9; accepted are", thalweg_define(client, "u", &d, timeout_s, &variable));
  d.dims = 0;
  EXPECT(THALWEG_SHAPE, "definition.dims = 0; accepted are", thalweg_define(client, "u", &d, timeout_s, &variable));
  d.dims = 2;
  d.domain[0] = d.domain[1] = 4;
  d.dtype = THALWEG_ELEMENT('f', 3);
  EXPECT(THALWEG_DTYPE, "elements of kind 'f' and 3 bytes", thalweg_define(client, "u", &d, timeout_s, &variable));
  d.dtype = THALWEG_FLOAT64;
  d.strategy = 17;
  EXPECT(THALWEG_INVALID, "strategy = 17; accepted are", thalweg_define(client, "u", &d, timeout_s, &variable));
  d.strategy = THALWEG_RAD;
  d.layout_count = 1;
  EXPECT(THALWEG_INVALID, "definition.layouts is NULL, but 1 are counted",
         thalweg_define(client, "u", &d, timeout_s, &variable));
  d.layout_count = 0;
  EXPECT(THALWEG_EXISTS, "rho", thalweg_define(client, "rho", &d, timeout_s, &variable));
  EXPECT(THALWEG_INVALID, "a name of 0 bytes", thalweg_define(client, "", &d, timeout_s, &variable));
  EXPECT(THALWEG_INVALID, "is not UTF-8", thalweg_define(client, "\xff", &d, timeout_s, &variable));
  d.size = 0;
  EXPECT(THALWEG_INVALID, "definition.size = 0; initialise it with THALWEG_DEFINITION_INIT",
         thalweg_define(client, "u", &d, timeout_s, &variable));
}

static void regions(void) {
  const thalweg_region outside = {2, {0, 1}, {4, 6}}, line = {1, {0}, {4}}, nothing = {2, {0, 0}, {0, 6}};
  const thalweg_region huge = {2, {0, 0}, {UINT64_C(1) << 40, UINT64_C(1) << 40}}, far = {1, {UINT64_MAX}, {1}};
  thalweg_region nine = whole;
  nine.dims = 9;
  EXPECT(THALWEG_SHAPE, "\"rho\"", thalweg_put(rho, 1, &outside, cells, THALWEG_FLOAT64, NULL, timeout_s));
  EXPECT(THALWEG_SHAPE, "\"rho\"", thalweg_put(rho, 1, &line, cells, THALWEG_FLOAT64, NULL, timeout_s));
  EXPECT(THALWEG_SHAPE, "\"rho\"", thalweg_put(rho, 1, &nothing, cells, THALWEG_FLOAT64, NULL, timeout_s));
  EXPECT(THALWEG_SHAPE, "overflows", thalweg_put(rho, 1, &huge, cells, THALWEG_FLOAT64, NULL, timeout_s));
  EXPECT(THALWEG_SHAPE, "overflows", thalweg_put(rho, 1, &far, cells, THALWEG_FLOAT64, NULL, timeout_s));
  EXPECT(THALWEG_SHAPE, "region.dims = 9; accepted are at most 8",
         thalweg_put(rho, 1, &nine, cells, THALWEG_FLOAT64, NULL, timeout_s));
  EXPECT(THALWEG_SHAPE, "\"rho\"",
         thalweg_get_into(rho, THALWEG_EXACTLY(0), &outside, cells, THALWEG_FLOAT64, NULL, THALWEG_STRATEGY_DEFAULT,
                          timeout_s, NULL));
}

static void types_and_layouts(void) {
  const thalweg_layout unknown = {.order = 9}, axes = {.order = THALWEG_AXES, .axes = {0, 0}};
  const thalweg_layout apart = {.order = THALWEG_STRIDES, .records = THALWEG_ARRAYS, .strides_bytes = {48, 8}};
  thalweg_view *view;
  EXPECT(THALWEG_DTYPE, "\"rho\" holds float64, the given array float32",
         thalweg_put(rho, 1, &whole, cells, THALWEG_FLOAT32, NULL, timeout_s));
  EXPECT(THALWEG_DTYPE, "\"rho\" holds float64, the given array int64",
         thalweg_get_into(rho, THALWEG_EXACTLY(0), &whole, cells, THALWEG_INT64, NULL, THALWEG_STRATEGY_DEFAULT,
                          timeout_s, NULL));
  EXPECT(THALWEG_DTYPE, "dtype 0x0 is no element type; give THALWEG_FLOAT64, in Fortran thalweg_real64",
         thalweg_put(rho, 1, &whole, cells, 0, NULL, timeout_s));
  EXPECT(THALWEG_INVALID, "layout.order = 9; accepted are",
         thalweg_put(rho, 1, &whole, cells, THALWEG_FLOAT64, &unknown, timeout_s));
  EXPECT(THALWEG_INVALID, "axes [0, 0]; accepted is each of 0 to n - 1 once",
         thalweg_put(rho, 1, &whole, cells, THALWEG_FLOAT64, &axes, timeout_s));
  EXPECT(THALWEG_INVALID, "layout.records with THALWEG_STRIDES",
         thalweg_put(rho, 1, &whole, cells, THALWEG_FLOAT64, &apart, timeout_s));
  EXPECT(
      THALWEG_INVALID, "layout.order = 3; accepted are",
      thalweg_get(rho, THALWEG_EXACTLY(0), &whole, &(thalweg_layout){.order = THALWEG_STRIDES}, 0, timeout_s, &view));
  EXPECT(THALWEG_INVALID, "strategy = 5; accepted are",
         thalweg_get(rho, THALWEG_EXACTLY(0), &whole, NULL, 5, timeout_s, &view));
  EXPECT(THALWEG_INVALID, "which.how = 7; accepted are",
         thalweg_get(rho, (thalweg_which){7, 0}, &whole, NULL, 0, timeout_s, &view));
}

static void waits(void) {
  thalweg_variable *variable;
  thalweg_view *view;
  EXPECT(THALWEG_TIMEOUT, "\"nobody defines it\"", thalweg_open(client, "nobody defines it", soon_s, &variable));
  EXPECT(THALWEG_TIMEOUT, "\"rho\"", thalweg_get(rho, THALWEG_EXACTLY(77), &whole, NULL, 0, soon_s, &view));
  EXPECT(THALWEG_TIMEOUT, "\"rho\"", thalweg_get(rho, THALWEG_AFTER(1000), &whole, NULL, 0, soon_s, &view));
  EXPECT(THALWEG_INVALID, "timeout_s = -1; accepted are 0 to 1e9 seconds", thalweg_open(client, "rho", -1, &variable));
  EXPECT(THALWEG_INVALID, "timeout_s = NaN; accepted", thalweg_open(client, "rho", NAN, &variable));
  thalweg_connect_options options = THALWEG_CONNECT_OPTIONS_INIT;
  thalweg_client *other;
  options.addresses = "ftp:example";
  EXPECT(THALWEG_INVALID, "\"ftp:example\"; accepted are unix:NAME and tcp:HOST:PORT",
         thalweg_connect(&options, &other));
  options.addresses = "unix:@thalweg-nobody-serves-here";
  options.timeout_s = soon_s;
  EXPECT(THALWEG_GONE, "@thalweg-nobody-serves-here", thalweg_connect(&options, &other));
}

static void seals(void) {
  thalweg_definition d = THALWEG_DEFINITION_INIT;
  d.dtype = THALWEG_FLOAT64;
  d.dims = 2;
  d.domain[0] = 4;
  d.domain[1] = 6;
  d.writers = 1;
  thalweg_variable *sealed;
  OK(thalweg_define(client, "sealed", &d, timeout_s, &sealed));
  const thalweg_region half = {2, {0, 0}, {2, 6}}, rest = {2, {2, 0}, {2, 6}};
  thalweg_view *view;
  OK(thalweg_put(sealed, 0, &half, cells, THALWEG_FLOAT64, NULL, timeout_s));
  EXPECT(THALWEG_TIMEOUT, "\"sealed\"", thalweg_get(sealed, THALWEG_EXACTLY(0), &half, NULL, 0, soon_s, &view));
  OK(thalweg_seal(sealed, 0, 0, timeout_s));
  OK(thalweg_get(sealed, THALWEG_EXACTLY(0), &half, NULL, 0, timeout_s, &view));
  OK(thalweg_view_release(view));
  EXPECT(THALWEG_EXISTS, "sealed", thalweg_put(sealed, 0, &rest, cells, THALWEG_FLOAT64, NULL, timeout_s));
  EXPECT(THALWEG_INVALID, "writer", thalweg_seal(sealed, 1, 3, timeout_s));
  int32_t existed = -1;
  OK(thalweg_release(sealed, 0, timeout_s, &existed));
  TRUE(existed == 1);
  EXPECT(THALWEG_NOT_FOUND, "\"sealed\"", thalweg_get(sealed, THALWEG_EXACTLY(0), &half, NULL, 0, soon_s, &view));
  OK(thalweg_close(sealed));
}

/* What was a negative number, such as the step before the first: nothing of it comes to be. */
static void versions(void) {
  const char *words = "version 18446744073709551615, as a signed number -1; accepted are 0 to 2^63 - 1";
  const int64_t step = -1;
  thalweg_request *request;
  thalweg_loan *loan;
  thalweg_view *view;
  thalweg_summary summary;
  void *data;
  double mine[4][6];
  int32_t there;
  size_t count;
  EXPECT(THALWEG_INVALID, words, thalweg_put(rho, step, &whole, cells, THALWEG_FLOAT64, NULL, timeout_s));
  EXPECT(THALWEG_INVALID, words, thalweg_put_local(rho, step, &whole, cells, THALWEG_FLOAT64, NULL, timeout_s));
  EXPECT(THALWEG_INVALID, words, thalweg_iput(rho, step, &whole, cells, THALWEG_FLOAT64, NULL, timeout_s, &request));
  EXPECT(THALWEG_INVALID, words, thalweg_loan_take(rho, step, &whole, NULL, timeout_s, &loan, &data, NULL));
  EXPECT(THALWEG_INVALID, words, thalweg_seal(rho, step, 0, timeout_s));
  EXPECT(THALWEG_INVALID, words, thalweg_release(rho, step, timeout_s, NULL));
  const thalweg_which negative[] = {THALWEG_EXACTLY(step), THALWEG_AFTER(step)};
  for (int i = 0; i < 2; ++i) {
    EXPECT(THALWEG_INVALID, words, thalweg_get(rho, negative[i], &whole, NULL, 0, timeout_s, &view));
    EXPECT(THALWEG_INVALID, words, thalweg_iget(rho, negative[i], &whole, NULL, 0, timeout_s, &request));
    EXPECT(THALWEG_INVALID, words,
           thalweg_get_into(rho, negative[i], &whole, mine, THALWEG_FLOAT64, NULL, 0, timeout_s, NULL));
    EXPECT(THALWEG_INVALID, words,
           thalweg_iget_into(rho, negative[i], &whole, mine, THALWEG_FLOAT64, NULL, 0, timeout_s, &request));
    EXPECT(THALWEG_INVALID, words, thalweg_reduce(rho, negative[i], &whole, NULL, timeout_s, &summary, NULL));
  }
  EXPECT(THALWEG_INVALID, words,
         thalweg_array_put(client, "a", step, &whole, cells, THALWEG_FLOAT64, NULL, 0, timeout_s));
  EXPECT(THALWEG_INVALID, words, thalweg_array_get(client, "a", step, timeout_s, &view));
  EXPECT(THALWEG_INVALID, words,
         thalweg_array_get_into(client, "a", step, &whole, mine, THALWEG_FLOAT64, NULL, timeout_s));
  EXPECT(THALWEG_INVALID, words, thalweg_array_exists(client, "a", step, timeout_s, &there));
  EXPECT(THALWEG_INVALID, words, thalweg_array_delete(client, "a", step, timeout_s, NULL));
  OK(thalweg_versions(rho, timeout_s, NULL, 0, &count));
  TRUE(count == 1);
  EXPECT(THALWEG_TIMEOUT, "\"rho\"",
         thalweg_get(rho, THALWEG_EXACTLY(INT64_MAX), &whole, NULL, 0, soon_s, &view)); /* the last that can be */
}

static void ended_handles(void) {
  thalweg_view *view;
  thalweg_view_info info = THALWEG_VIEW_INFO_INIT;
  OK(thalweg_get(rho, THALWEG_EXACTLY(0), &whole, NULL, 0, timeout_s, &view));
  OK(thalweg_view_describe(view, &info));
  TRUE(info.dims == 2 && info.extent[1] == 6 && info.dtype == THALWEG_FLOAT64 && info.version == 0);
  TRUE(((const double *)info.data)[7] == cells[1][1]);
  OK(thalweg_view_release(view));
  EXPECT(THALWEG_INVALID, "released already, or never made", thalweg_view_release(view));
  EXPECT(THALWEG_INVALID, "released already, or never made", thalweg_view_describe(view, &info));
  OK(thalweg_view_release(NULL));

  thalweg_loan *loan;
  void *data;
  OK(thalweg_loan_take(rho, 5, &whole, NULL, timeout_s, &loan, &data, NULL));
  OK(thalweg_loan_discard(loan));
  EXPECT(THALWEG_INVALID, "loan 0x", thalweg_loan_commit(loan, timeout_s));
  EXPECT(THALWEG_INVALID, "loan is NULL", thalweg_loan_commit(NULL, timeout_s));
  EXPECT(THALWEG_TIMEOUT, "\"rho\"", thalweg_get(rho, THALWEG_EXACTLY(5), &whole, NULL, 0, soon_s, &view));

  thalweg_variable *again;
  OK(thalweg_open(client, "rho", timeout_s, &again));
  OK(thalweg_close(again));
  EXPECT(THALWEG_INVALID, "variable 0x", thalweg_close(again));
  EXPECT(THALWEG_INVALID, "variable 0x", thalweg_put(again, 1, &whole, cells, THALWEG_FLOAT64, NULL, timeout_s));
  EXPECT(THALWEG_INVALID, "view 0x", thalweg_view_release((thalweg_view *)rho));
}

static void requests(void) {
  thalweg_request *request;
  thalweg_view *view;
  double mine[4][6];
  OK(thalweg_iget_into(rho, THALWEG_EXACTLY(9), &whole, mine, THALWEG_FLOAT64, NULL, 0, timeout_s, &request));
  EXPECT(THALWEG_TIMEOUT, "request.wait: the request goes on", thalweg_wait(request, soon_s, NULL));
  EXPECT(THALWEG_INVALID, "the request goes on", thalweg_request_view(request, &view));
  OK(thalweg_cancel(request));
  EXPECT(THALWEG_INTERRUPTED, "cancelled", thalweg_wait(request, timeout_s, NULL));
  OK(thalweg_request_release(request));
  EXPECT(THALWEG_INVALID, "request 0x", thalweg_request_release(request));

  OK(thalweg_iget(rho, THALWEG_EXACTLY(9), &whole, NULL, 0, soon_s, &request));
  EXPECT(THALWEG_TIMEOUT, "stage.get", thalweg_wait(request, timeout_s, NULL));
  OK(thalweg_request_release(request));

  OK(thalweg_iget(rho, THALWEG_EXACTLY(0), &whole, NULL, 0, timeout_s, &request));
  OK(thalweg_wait(request, timeout_s, NULL));
  OK(thalweg_request_view(request, &view));
  OK(thalweg_view_release(view));
  EXPECT(THALWEG_INVALID, "handed its view out", thalweg_request_view(request, &view));
  OK(thalweg_request_release(request));

  thalweg_request *all[THALWEG_MAX_REQUESTS];
  for (int i = 0; i < THALWEG_MAX_REQUESTS; ++i) {
    OK(thalweg_iget(rho, THALWEG_EXACTLY(9), &whole, NULL, 0, timeout_s, &all[i]));
  }
  EXPECT(THALWEG_FULL, "256 requests go on already",
         thalweg_iget(rho, THALWEG_EXACTLY(9), &whole, NULL, 0, timeout_s, &request));
  for (int i = 0; i < THALWEG_MAX_REQUESTS; ++i) OK(thalweg_cancel(all[i]));
  for (int i = 0; i < THALWEG_MAX_REQUESTS; ++i) OK(thalweg_request_release(all[i]));
}

static void reductions_and_attributes(void) {
  thalweg_summary summary;
  uint64_t histogram[4];
  const thalweg_bins none = {0, 1, 0}, four = {0, 24, 4};
  char units[4];
  size_t length;
  EXPECT(THALWEG_INVALID, "bins",
         thalweg_reduce(rho, THALWEG_EXACTLY(0), &whole, &none, timeout_s, &summary, histogram));
  EXPECT(THALWEG_INVALID, "histogram is NULL",
         thalweg_reduce(rho, THALWEG_EXACTLY(0), &whole, &four, timeout_s, &summary, NULL));
  OK(thalweg_reduce(rho, THALWEG_LATEST, &whole, &four, timeout_s, &summary, histogram));
  TRUE(summary.count == 24 && summary.min == 0 && summary.max == 23 && summary.sum == 276);
  TRUE(histogram[0] == 6 && histogram[1] == 6 && histogram[2] == 6 && histogram[3] == 6);
  EXPECT(THALWEG_NOT_FOUND, "\"rho\" has no attribute \"units\"",
         thalweg_attribute(rho, "units", timeout_s, units, 4, &length));
  OK(thalweg_set_attribute(rho, "units", "kg/m3", timeout_s));
  OK(thalweg_attribute(rho, "units", timeout_s, units, sizeof units, &length));
  TRUE(length == 5 && strcmp(units, "kg/") == 0);
}

static void *in_another_thread(void *unused) {
  (void)unused;
  TRUE(strcmp(thalweg_last_error(), "") == 0);
  return NULL;
}

int main(void) {
  thalweg_server *server;
  thalweg_server_options options = THALWEG_SERVER_OPTIONS_INIT;
  options.memory_limit_bytes = 1000;
  EXPECT(THALWEG_INVALID, "a memory limit of 1000 bytes; accepted are at least 1 MiB",
         thalweg_server_start(&options, &server));
  options.memory_limit_bytes = 8 << 20;
  options.when_full = 5;
  EXPECT(THALWEG_INVALID, "when_full = 5; accepted are", thalweg_server_start(&options, &server));
  options.when_full = THALWEG_FAIL;
  OK(thalweg_server_start(&options, &server));

  thalweg_connect_options to = THALWEG_CONNECT_OPTIONS_INIT;
  OK(thalweg_server_address(server, &to.addresses));
  to.name_space = "refusals";
  OK(thalweg_connect(&to, &client));
  thalweg_definition definition = THALWEG_DEFINITION_INIT;
  definition.dtype = THALWEG_FLOAT64;
  definition.dims = 2;
  definition.domain[0] = 4;
  definition.domain[1] = 6;
  OK(thalweg_define(client, "rho", &definition, timeout_s, &rho));
  for (int i = 0; i < 24; ++i) cells[i / 6][i % 6] = i;
  OK(thalweg_put(rho, 0, &whole, cells, THALWEG_FLOAT64, NULL, timeout_s));

  null_pointers();
  definitions();
  regions();
  types_and_layouts();
  waits();
  seals();
  versions();
  ended_handles();
  requests();
  reductions_and_attributes();
  pthread_t thread;
  pthread_create(&thread, NULL, in_another_thread, NULL);
  pthread_join(thread, NULL);

  /* After all of it the variable is as it was. */
  double got[4][6];
  uint64_t version = 99;
  OK(thalweg_get_into(rho, THALWEG_LATEST, &whole, got, THALWEG_FLOAT64, NULL, 0, timeout_s, &version));
  TRUE(version == 0 && memcmp(got, cells, sizeof got) == 0);
  OK(thalweg_close(rho));
  OK(thalweg_server_stop(server));
  EXPECT(THALWEG_INVALID, "server 0x", thalweg_server_stop(server));
  thalweg_variable *variable;
  EXPECT(THALWEG_GONE, "", thalweg_open(client, "rho", timeout_s, &variable));
  OK(thalweg_disconnect(client));
  EXPECT(THALWEG_INVALID, "client 0x", thalweg_disconnect(client));
  if (failures > 0) fprintf(stderr, "%d checks failed\n", failures);
  return failures > 0;
}
