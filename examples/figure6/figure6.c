/* The paper's figure 6 in C: `figure6_c put` puts a row-major array, `figure6_c get` gets it column-major. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thalweg.h>

enum { n0 = 4, n1 = 6 };
static const double timeout_s = 30.0;

static double cell(int i, int j) { return 100.0 * i + j; }

/* Ends the program with the message of a call that failed. */
static void check(thalweg_status status) {
  if (status == THALWEG_OK) return;
  fprintf(stderr, "%s: %s\n", thalweg_status_name(status), thalweg_last_error());
  exit(EXIT_FAILURE);
}

static void put(const thalweg_client *client, const thalweg_region *whole, uint64_t version) {
  double u[n0][n1];
  for (int i = 0; i < n0; ++i) {
    for (int j = 0; j < n1; ++j) u[i][j] = cell(i, j);
  }
  thalweg_definition definition = THALWEG_DEFINITION_INIT;
  definition.dtype = THALWEG_FLOAT64;
  definition.dims = whole->dims;
  memcpy(definition.domain, whole->extent, sizeof definition.domain);
  thalweg_variable *variable;
  check(thalweg_define(client, "figure6", &definition, timeout_s, &variable));
  check(thalweg_put(variable, version, whole, u, THALWEG_FLOAT64, NULL, timeout_s));
  check(thalweg_close(variable));
}

static int get(const thalweg_client *client, const thalweg_region *whole, uint64_t version) {
  double u[n1][n0]; /* column-major: cell (i, j) is u[j][i] */
  const thalweg_layout column_major = {.order = THALWEG_COLUMN_MAJOR};
  thalweg_variable *variable;
  check(thalweg_open(client, "figure6", timeout_s, &variable));
  check(thalweg_get_into(variable, THALWEG_EXACTLY(version), whole, u, THALWEG_FLOAT64, &column_major,
                         THALWEG_STRATEGY_DEFAULT, timeout_s, NULL));
  check(thalweg_close(variable));
  int wrong = 0;
  for (int i = 0; i < n0; ++i) {
    for (int j = 0; j < n1; ++j) wrong += u[j][i] != cell(i, j);
  }
  printf("%d of %d cells are wrong\n", wrong, n0 * n1);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
  const int putting = argc > 1 && strcmp(argv[1], "put") == 0;
  if (!putting && (argc < 2 || strcmp(argv[1], "get") != 0)) {
    fprintf(stderr, "usage: %s put|get [VERSION]\n", argv[0]);
    return 2;
  }
  const uint64_t version = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
  const thalweg_region whole = {2, {0, 0}, {n0, n1}};
  thalweg_client *client;
  check(thalweg_connect(NULL, &client)); /* to THALWEG_ADDRESS */
  int status = EXIT_SUCCESS;
  if (putting) {
    put(client, &whole, version);
  } else {
    status = get(client, &whole, version);
  }
  check(thalweg_disconnect(client));
  return status;
}
