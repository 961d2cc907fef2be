/* What the C interface says to arguments that are wrong, hostile or too many threads. */
#include <kalstream/kalstream.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                          \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      fprintf(stderr, "line %d: %s (last error: %s)\n", __LINE__, #condition, kalstream_error()); \
      exit(1);                                                                                    \
    }                                                                                             \
  } while (0)

#define FAILS(wanted, call)               \
  do {                                    \
    CHECK((call) == (wanted));            \
    CHECK(strlen(kalstream_error()) > 5); \
  } while (0)

static kalstream_learner* learner_of(const char* name, size_t inputs, const char* const* settings) {
  kalstream_learner* learner = NULL;
  CHECK(kalstream_learner_new(name, inputs, 1, settings, &learner) == KALSTREAM_OK);
  return learner;
}

static void take(kalstream_stream* stream, const char* line, const char* expected) {
  const char* answer = NULL;
  size_t length = 0;
  CHECK(kalstream_stream_take(stream, line, strlen(line), &answer, &length) == KALSTREAM_OK);
  CHECK((answer == NULL) == (expected == NULL));
  if (expected != NULL) CHECK(strstr(answer, expected) != NULL && strlen(answer) == length);
}

static void versions(void) {
  CHECK(strcmp(kalstream_error(), "") == 0);
  CHECK(strchr(kalstream_version(), '.') != NULL);
  CHECK(kalstream_require_abi(KALSTREAM_ABI) == KALSTREAM_OK);
  FAILS(KALSTREAM_INVALID, kalstream_require_abi(0));
  FAILS(KALSTREAM_INVALID, kalstream_require_abi(KALSTREAM_ABI + 1));
}

static void settings_that_are_wrong(void) {
  static const char* const wrong[][3] = {
      {"hiden", "3", NULL},       {"hidden", "many", NULL}, {"hidden", "-1", NULL},
      {"seed", "x", NULL},        {"seed", "", NULL},       {"seed", "99999999999999999999", NULL},
      {"scaled", "maybe", NULL},  {"interval", "1", NULL},  {"interval", "nan", NULL},
      {"interval", "0.9x", NULL}, {"surprise", "1", NULL},  {"horizon", "0", NULL},
      {"horizon", "1001", NULL},  {"horizon", "-1", NULL},  {"", "", NULL},
      {"hidden", NULL, NULL}};
  kalstream_learner* learner = NULL;
  size_t k;
  for (k = 0; k < sizeof wrong / sizeof *wrong; ++k)
    FAILS(KALSTREAM_INVALID, kalstream_learner_new("alg1", 1, 1, wrong[k], &learner));
  FAILS(KALSTREAM_INVALID, kalstream_learner_new("", 1, 1, NULL, &learner));
  FAILS(KALSTREAM_INVALID, kalstream_learner_new("autoo", 1, 1, NULL, &learner));
  CHECK(strstr(kalstream_error(), "auto") != NULL);
  FAILS(KALSTREAM_INVALID, kalstream_learner_new("alg1", 1, 0, NULL, &learner));
  FAILS(KALSTREAM_INVALID, kalstream_learner_new("alg1", 1, 1, NULL, NULL));
  CHECK(kalstream_learner_new("ekf", (size_t)1 << 40, 1, NULL, &learner) != KALSTREAM_OK);
  CHECK(kalstream_learner_new("ekf", 1000000, 1, NULL, &learner) == KALSTREAM_MEMORY);
  CHECK(learner == NULL);
}

static void null_learner(void) {
  double v = 0;
  size_t size = 0;
  unsigned char* bytes = NULL;
  const char* name = NULL;
  kalstream_learner* copy = NULL;
  FAILS(KALSTREAM_INVALID, kalstream_learner_clone(NULL, &copy));
  FAILS(KALSTREAM_INVALID, kalstream_learner_reset(NULL));
  FAILS(KALSTREAM_INVALID, kalstream_learner_size(NULL, &size, &size, NULL));
  FAILS(KALSTREAM_INVALID, kalstream_learner_predict(NULL, &v, 1, &v, 1));
  FAILS(KALSTREAM_INVALID, kalstream_learner_interval(NULL, &v, 1, &v, &v, &v, 1));
  FAILS(KALSTREAM_INVALID, kalstream_learner_surprise(NULL, &v, 1, &v, &v, 1));
  FAILS(KALSTREAM_INVALID, kalstream_learner_learn(NULL, &v, 1, &v, 1, NULL));
  FAILS(KALSTREAM_INVALID, kalstream_learner_advance(NULL, &v, 1, NULL));
  FAILS(KALSTREAM_INVALID, kalstream_learner_observe(NULL, &v, 1, &v, 1, NULL));
  FAILS(KALSTREAM_INVALID, kalstream_learner_forecast(NULL, 1, &v, 1, &v, NULL, NULL, 1));
  FAILS(KALSTREAM_INVALID, kalstream_learner_expect_periods(NULL, &v, 1));
  FAILS(KALSTREAM_INVALID, kalstream_learner_experts(NULL, &size));
  FAILS(KALSTREAM_INVALID, kalstream_learner_weights(NULL, &v, 1));
  FAILS(KALSTREAM_INVALID, kalstream_learner_expert_name(NULL, 0, &name));
  FAILS(KALSTREAM_INVALID, kalstream_learner_snapshot(NULL, &bytes, &size));
  FAILS(KALSTREAM_INVALID, kalstream_learner_save(NULL, &bytes, &size));
  kalstream_learner_free(NULL);
  kalstream_free(NULL);
}

static void null_arguments(void) {
  kalstream_learner* l = learner_of("rls", 2, NULL);
  double x[2] = {1, 2};
  double d = 3;
  unsigned char* bytes = NULL;
  size_t size = 0;
  FAILS(KALSTREAM_INVALID, kalstream_learner_clone(l, NULL));
  FAILS(KALSTREAM_INVALID, kalstream_learner_predict(l, NULL, 2, &d, 1));
  FAILS(KALSTREAM_INVALID, kalstream_learner_predict(l, x, 2, NULL, 1));
  FAILS(KALSTREAM_INVALID, kalstream_learner_learn(l, NULL, 2, &d, 1, NULL));
  FAILS(KALSTREAM_INVALID, kalstream_learner_learn(l, x, 2, NULL, 1, NULL));
  FAILS(KALSTREAM_INVALID, kalstream_learner_advance(l, NULL, 2, NULL));
  FAILS(KALSTREAM_INVALID, kalstream_learner_forecast(l, 1, NULL, 2, &d, NULL, NULL, 1));
  FAILS(KALSTREAM_INVALID, kalstream_learner_forecast(l, 1, x, 2, NULL, NULL, NULL, 1));
  FAILS(KALSTREAM_INVALID, kalstream_learner_expect_periods(l, NULL, 1));
  FAILS(KALSTREAM_INVALID, kalstream_learner_experts(l, NULL));
  FAILS(KALSTREAM_INVALID, kalstream_learner_snapshot(l, NULL, &size));
  FAILS(KALSTREAM_INVALID, kalstream_learner_snapshot(l, &bytes, NULL));
  FAILS(KALSTREAM_INVALID, kalstream_learner_save(l, NULL, &size));
  FAILS(KALSTREAM_INVALID, kalstream_learner_save(l, &bytes, NULL));
  FAILS(KALSTREAM_INVALID, kalstream_learners(NULL));
  CHECK(kalstream_learner_size(l, NULL, NULL, NULL) == KALSTREAM_OK);
  CHECK(bytes == NULL);
  kalstream_learner_free(l);
}

static void sizes(void) {
  static const char* const all[] = {"interval", "0.9", "surprise", "true", "horizon", "2", NULL};
  kalstream_learner* l = learner_of("rls", 2, all);
  kalstream_learner* plain = learner_of("rls", 2, NULL);
  kalstream_report report;
  const char* name = NULL;
  double x[6] = {1, 2, 3, 4, 5, 6};
  double d[6] = {0};
  uint64_t samples = 1;
  FAILS(KALSTREAM_INVALID, kalstream_learner_predict(l, x, 1, d, 1));
  FAILS(KALSTREAM_INVALID, kalstream_learner_predict(l, x, 2, d, 2));
  FAILS(KALSTREAM_INVALID, kalstream_learner_predict(l, x, SIZE_MAX, d, 1));
  FAILS(KALSTREAM_INVALID, kalstream_learner_learn(l, x, 2, d, 0, NULL));
  FAILS(KALSTREAM_INVALID, kalstream_learner_interval(l, x, 2, NULL, d, NULL, 1));
  FAILS(KALSTREAM_INVALID, kalstream_learner_interval(plain, x, 2, NULL, d, d, 1));
  FAILS(KALSTREAM_INVALID, kalstream_learner_surprise(plain, x, 2, d, d, 1));
  FAILS(KALSTREAM_INVALID, kalstream_learner_forecast(l, 0, x, 0, d, NULL, NULL, 0));
  FAILS(KALSTREAM_INVALID, kalstream_learner_forecast(l, 3, x, 6, d, NULL, NULL, 3));
  FAILS(KALSTREAM_INVALID, kalstream_learner_forecast(l, 2, x, 3, d, NULL, NULL, 2));
  FAILS(KALSTREAM_INVALID, kalstream_learner_forecast(l, SIZE_MAX, x, 3, d, NULL, NULL, 2));
  FAILS(KALSTREAM_INVALID, kalstream_learner_forecast(plain, 3, x, 6, d, d, d, 3));
  FAILS(KALSTREAM_INVALID, kalstream_learner_expert_name(l, 0, &name));
  FAILS(KALSTREAM_INVALID, kalstream_learner_weights(l, d, 1));
  memset(&report, 0, sizeof report);
  FAILS(KALSTREAM_INVALID, kalstream_learner_learn(l, x, 2, d, 1, &report));
  report.size = sizeof report + 8;
  FAILS(KALSTREAM_INVALID, kalstream_learner_advance(l, x, 2, &report));
  CHECK(kalstream_learner_size(l, NULL, NULL, &samples) == KALSTREAM_OK && samples == 0);
  kalstream_learner_free(l);
  kalstream_learner_free(plain);
}

static void numbers_that_cannot_be_used(void) {
  static const char* const settings[] = {"hidden", "2", "interval", "0.9", "horizon", "2", NULL};
  static const double bad[] = {NAN, INFINITY, -INFINITY, 1e101};
  kalstream_learner* l = learner_of("alg1", 1, settings);
  kalstream_report report;
  double good = 1;
  double v[2] = {7, 7};
  double periods[] = {24, 12};
  uint64_t samples = 1;
  size_t k;
  report.size = sizeof report;
  for (k = 0; k < sizeof bad / sizeof *bad; ++k) {
    FAILS(KALSTREAM_UNUSABLE, kalstream_learner_predict(l, &bad[k], 1, v, 1));
    CHECK(isnan(v[0]));
    FAILS(KALSTREAM_UNUSABLE, kalstream_learner_learn(l, &bad[k], 1, &good, 1, &report));
    CHECK(report.status == KALSTREAM_REJECTED_INPUT);
    FAILS(KALSTREAM_UNUSABLE, kalstream_learner_learn(l, &good, 1, &bad[k], 1, &report));
    FAILS(KALSTREAM_UNUSABLE, kalstream_learner_advance(l, &bad[k], 1, NULL));
    v[0] = bad[k];
    v[1] = 1;
    FAILS(KALSTREAM_UNUSABLE, kalstream_learner_forecast(l, 2, v, 2, v, NULL, NULL, 2));
    FAILS(KALSTREAM_INVALID, kalstream_learner_expect_periods(l, &bad[k], 1));
  }
  FAILS(KALSTREAM_INVALID, kalstream_learner_expect_periods(l, periods, 2));
  CHECK(kalstream_learner_size(l, NULL, NULL, &samples) == KALSTREAM_OK && samples == 0);
  kalstream_learner_free(l);
}

/* Every cut and every flipped byte of sound bytes is refused, and does no harm. */
static void spoilt(const unsigned char* bytes, size_t size,
                   int (*read)(const unsigned char*, size_t)) {
  unsigned char* copy = malloc(size + 1);
  const size_t stride = size / 97 + 1;
  size_t at;
  CHECK(read(bytes, size) == KALSTREAM_OK);
  for (at = 0; at < size; at += at < 64 ? 1 : stride) {
    unsigned char* cut = malloc(at + 1); /* so that a byte too many is noticed */
    memcpy(cut, bytes, at);
    FAILS(KALSTREAM_SNAPSHOT, read(cut, at));
    free(cut);
    memcpy(copy, bytes, size);
    copy[at] ^= 0x10;
    FAILS(KALSTREAM_SNAPSHOT, read(copy, size));
  }
  FAILS(KALSTREAM_SNAPSHOT, read(NULL, 0));
  FAILS(KALSTREAM_INVALID, read(NULL, 1));
  free(copy);
}

static int load(const unsigned char* bytes, size_t size) {
  kalstream_learner* learner = NULL;
  const int code = kalstream_learner_load(bytes, size, NULL, &learner);
  kalstream_learner_free(learner);
  return code;
}

static int describe(const unsigned char* bytes, size_t size) {
  char* json = NULL;
  const int code = kalstream_describe(bytes, size, &json);
  if (code == KALSTREAM_OK) CHECK(strstr(json, "\"alg1\"") != NULL);
  kalstream_free(json);
  return code;
}

static void bytes_from_anywhere(void) {
  static const char* const settings[] = {"hidden",   "2",    "interval", "0.9",
                                         "surprise", "true", NULL};
  static const char* const later[] = {"interval", "0.5", NULL};
  static const char* const own[] = {"hidden", "2", NULL};
  kalstream_learner* l = learner_of("alg1", 1, settings);
  kalstream_learner* other = NULL;
  unsigned char* bytes = NULL;
  size_t size = 0;
  CHECK(kalstream_learner_save(l, &bytes, &size) == KALSTREAM_OK);
  spoilt(bytes, size, load);
  spoilt(bytes, size, describe);
  FAILS(KALSTREAM_INVALID, kalstream_learner_load(bytes, size, later, &other));
  FAILS(KALSTREAM_INVALID, kalstream_learner_load(bytes, size, NULL, NULL));
  FAILS(KALSTREAM_INVALID, kalstream_describe(bytes, size, NULL));
  kalstream_free(bytes);
  CHECK(kalstream_learner_snapshot(l, &bytes, &size) == KALSTREAM_OK);
  spoilt(bytes, size, load);
  FAILS(KALSTREAM_INVALID, kalstream_learner_load(bytes, size, own, &other));
  CHECK(kalstream_learner_load(bytes, size, later, &other) == KALSTREAM_OK);
  kalstream_free(bytes);
  kalstream_learner_free(other);
  kalstream_learner_free(l);
}

static void streams_that_are_wrong(void) {
  static const char* const wrong[] = {"",
                                      "[]",
                                      "{",
                                      "{\"learner\":7}",
                                      "{\"lerner\":\"auto\"}",
                                      "{\"learner\":\"autoo\"}",
                                      "{\"horizon\":1e9}",
                                      "{\"interval\":2}",
                                      "{\"set\":\"x\"}",
                                      "\xff"};
  kalstream_stream* s = NULL;
  const char* answer = NULL;
  char* text = NULL;
  size_t size = 0;
  unsigned char* bytes = NULL;
  size_t k;
  for (k = 0; k < sizeof wrong / sizeof *wrong; ++k)
    FAILS(KALSTREAM_INVALID, kalstream_stream_new(wrong[k], KALSTREAM_JSON, &s));
  FAILS(KALSTREAM_INVALID, kalstream_stream_new(NULL, 3, &s));
  FAILS(KALSTREAM_INVALID, kalstream_stream_new(NULL, -1, &s));
  FAILS(KALSTREAM_INVALID, kalstream_stream_new(NULL, 0, NULL));
  FAILS(KALSTREAM_INVALID, kalstream_stream_take(NULL, "{}", 2, &answer, &size));
  FAILS(KALSTREAM_INVALID, kalstream_stream_learn(NULL));
  FAILS(KALSTREAM_INVALID, kalstream_stream_remarks(NULL, &text));
  FAILS(KALSTREAM_INVALID, kalstream_stream_schema(NULL, &text));
  FAILS(KALSTREAM_INVALID, kalstream_stream_status(NULL, &text));
  FAILS(KALSTREAM_INVALID, kalstream_stream_state_of(NULL, "", 0, &bytes, &size));
  FAILS(KALSTREAM_INVALID, kalstream_stream_put_state(NULL, "", 0, bytes, size));
  FAILS(KALSTREAM_INVALID, kalstream_stream_forget(NULL, "", 0));
  FAILS(KALSTREAM_INVALID, kalstream_stream_checkpoint(NULL, &bytes, &size));
  FAILS(KALSTREAM_INVALID, kalstream_stream_resume(NULL, bytes, size));
  kalstream_stream_free(NULL);
  CHECK(s == NULL);
}

static const char* const keyed = "{\"target\":\"y\",\"key\":\"k\",\"learner\":\"rls\"}";

static int resume(const unsigned char* bytes, size_t size) {
  kalstream_stream* s = NULL;
  int code;
  CHECK(kalstream_stream_new(keyed, KALSTREAM_JSON, &s) == KALSTREAM_OK);
  code = kalstream_stream_resume(s, bytes, size);
  kalstream_stream_free(s);
  return code;
}

static void records(void) {
  kalstream_stream* s = NULL;
  char* text = NULL;
  const char* answer = NULL;
  unsigned char* bytes = NULL;
  unsigned char* all = NULL;
  size_t size = 0;
  size_t all_size = 0;
  CHECK(kalstream_stream_new(keyed, KALSTREAM_AS_RECORDS, &s) == KALSTREAM_OK);
  FAILS(KALSTREAM_INVALID, kalstream_stream_take(s, NULL, 2, &answer, &size));
  FAILS(KALSTREAM_INVALID, kalstream_stream_take(s, "{}", 2, NULL, &size));
  FAILS(KALSTREAM_INVALID, kalstream_stream_take(s, "{}", 2, &answer, NULL));
  FAILS(KALSTREAM_NOT_FOUND, kalstream_stream_state_of(s, "a", 1, &bytes, &size));
  FAILS(KALSTREAM_SNAPSHOT, kalstream_stream_put_state(s, "a", 1, bytes, 0));
  take(s, "", NULL);
  take(s, "{\"k\":\"a\",\"x\":1,\"y\":2}\r\n", "\"learnt\"");
  take(s, "{\"k\":\"a\",\"x\":1", "\"refused\"");
  take(s, "{\"k\":\"b\",\"x\":2,\"y\":3}", "\"key\":\"b\"");
  FAILS(KALSTREAM_NOT_FOUND, kalstream_stream_state_of(s, "c", 1, &bytes, &size));
  FAILS(KALSTREAM_NOT_FOUND, kalstream_stream_forget(s, "c", 1));
  FAILS(KALSTREAM_INVALID, kalstream_stream_forget(s, NULL, 1));
  FAILS(KALSTREAM_INVALID, kalstream_stream_state_of(s, "a", 1, NULL, &size));
  CHECK(kalstream_stream_state_of(s, "a", 1, &bytes, &size) == KALSTREAM_OK);
  CHECK(kalstream_stream_put_state(s, "c", 1, bytes, size) == KALSTREAM_OK);
  FAILS(KALSTREAM_SNAPSHOT, kalstream_stream_put_state(s, "c", 1, bytes, size - 1));
  FAILS(KALSTREAM_INVALID, kalstream_stream_put_state(s, "c", 1, NULL, 1));
  kalstream_free(bytes);
  CHECK(kalstream_stream_status(s, &text) == KALSTREAM_OK);
  CHECK(strstr(text, "\"records\":3,\"refused\":1,\"samples\":2") != NULL);
  CHECK(strstr(text, "\"models\":3") != NULL);
  kalstream_free(text);
  CHECK(kalstream_stream_schema(s, &text) == KALSTREAM_OK && strstr(text, "\"x\"") != NULL);
  kalstream_free(text);
  CHECK(kalstream_stream_remarks(s, &text) == KALSTREAM_OK);
  kalstream_free(text);
  CHECK(kalstream_stream_checkpoint(s, &all, &all_size) == KALSTREAM_OK);
  FAILS(KALSTREAM_INVALID, kalstream_stream_resume(s, all, all_size));
  spoilt(all, all_size, resume);
  kalstream_stream_free(s);

  CHECK(kalstream_stream_new("{\"learner\":\"rls\"}", KALSTREAM_CSV, &s) == KALSTREAM_OK);
  CHECK(kalstream_stream_resume(s, all, all_size) != KALSTREAM_OK); /* that has keys */
  kalstream_stream_free(s);
  CHECK(kalstream_stream_new("{\"learner\":\"rls\"}", KALSTREAM_CSV, &s) == KALSTREAM_OK);
  take(s, "a,b", NULL);
  take(s, "1,2", "sample,id,status,target,prediction\n1,,learnt,2,");
  take(s, "1,2,3", ",refused,");
  FAILS(KALSTREAM_INVALID, kalstream_stream_forget(s, "key", 3));
  CHECK(kalstream_stream_remarks(s, &text) == KALSTREAM_OK && strstr(text, "line 3: ") != NULL);
  kalstream_free(text);
  CHECK(kalstream_stream_remarks(s, &text) == KALSTREAM_OK && strcmp(text, "") == 0);
  kalstream_free(text);
  kalstream_stream_free(s);
  kalstream_free(all);

  CHECK(kalstream_stream_new("{\"learner\":\"alg1\",\"inputs\":\"none\"}", 1, &s) == KALSTREAM_OK);
  FAILS(KALSTREAM_INVALID, kalstream_stream_take(s, "{\"y\":1}", 7, &answer, &size));
  kalstream_stream_free(s);
}

/* Two threads with one handle: each call is done whole, or refused. */
static kalstream_learner* shared;

static void* learn_much(void* refused) {
  double x = 0.5;
  double d = 1;
  int k;
  for (k = 0; k < 20000; ++k) {
    const int code = kalstream_learner_learn(shared, &x, 1, &d, 1, NULL);
    CHECK(code == KALSTREAM_OK || code == KALSTREAM_BUSY);
    *(uint64_t*)refused += code == KALSTREAM_BUSY;
  }
  return NULL;
}

static void threads(void) {
  pthread_t other;
  uint64_t refused[2] = {0, 0};
  uint64_t samples = 0;
  shared = learner_of("mean", 1, NULL);
  CHECK(pthread_create(&other, NULL, learn_much, &refused[0]) == 0);
  learn_much(&refused[1]);
  CHECK(pthread_join(other, NULL) == 0);
  CHECK(kalstream_learner_size(shared, NULL, NULL, &samples) == KALSTREAM_OK);
  CHECK(samples + refused[0] + refused[1] == 40000);
  kalstream_learner_free(shared);
}

static void catalogue(void) {
  char* json = NULL;
  CHECK(kalstream_learners(&json) == KALSTREAM_OK);
  CHECK(strncmp(json, "[{\"name\":\"auto\"", 15) == 0 &&
        strstr(json, "\"key\":\"hidden\"") != NULL);
  kalstream_free(json);
}

int main(void) {
  versions();
  settings_that_are_wrong();
  null_learner();
  null_arguments();
  sizes();
  numbers_that_cannot_be_used();
  bytes_from_anywhere();
  streams_that_are_wrong();
  records();
  threads();
  catalogue();
  puts("every wrong call was refused");
  return 0;
}
