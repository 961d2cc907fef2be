/* parity FILE: makes the calls of the file (vectors.cc has its form) and compares every bit. */
#include <inttypes.h>
#include <kalstream/kalstream.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_numbers = 4096 };

static unsigned long line_number = 0;
static unsigned long compared = 0;

static void fail(const char* what) {
  fprintf(stderr, "line %lu: %s (%s)\n", line_number, what, kalstream_error());
  exit(1);
}

static void check(int code) {
  if (code != KALSTREAM_OK) fail("the call failed");
}

static double number_of(const char* word) {
  uint64_t bits = 0;
  double v = 0;
  if (strcmp(word, "nan") == 0) return NAN;
  if (sscanf(word, "%16" SCNx64, &bits) != 1) fail("this is no number");
  memcpy(&v, &bits, sizeof v);
  return v;
}

static void compare(const double* now, const double* expected, size_t count) {
  size_t k;
  for (k = 0; k < count; ++k) {
    if (isnan(now[k]) && isnan(expected[k])) continue;
    if (memcmp(&now[k], &expected[k], sizeof(double)) != 0) fail("another number");
  }
  compared += count;
}

static void compare_bytes(const unsigned char* bytes, size_t size, const char* expected) {
  uint64_t sum = UINT64_C(0xcbf29ce484222325);
  char text[64];
  size_t k;
  for (k = 0; k < size; ++k) sum = (sum ^ bytes[k]) * UINT64_C(0x100000001b3);
  snprintf(text, sizeof text, "%zu %016" PRIx64, size, sum);
  if (strcmp(text, expected) != 0) fail("other bytes");
}

/* Of the words of a line before and after the '='. */
static double in[most_numbers];
static double out[most_numbers];
static double now[most_numbers];
static size_t ins;
static size_t outs;

static void read_numbers(char* text) {
  double* to = in;
  char* word;
  ins = outs = 0;
  for (word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
    if (strcmp(word, "=") == 0) {
      ins = (size_t)(to - in);
      to = out;
    } else {
      *to++ = number_of(word);
    }
  }
  outs = (size_t)(to - out);
}

static kalstream_learner* learner = NULL;
static size_t n_x;
static size_t n_d;

static void make_learner(char* text) {
  static const char* settings[64];
  size_t count = 0;
  char* name = strtok(text, " ");
  char* word;
  n_x = (size_t)atol(strtok(NULL, " "));
  n_d = (size_t)atol(strtok(NULL, " "));
  while ((word = strtok(NULL, " ")) != NULL) {
    char* equals = strchr(word, '=');
    *equals = '\0';
    settings[count++] = word;
    settings[count++] = equals + 1;
  }
  settings[count] = NULL;
  kalstream_learner_free(learner);
  check(kalstream_learner_new(name, n_x, n_d, settings, &learner));
}

static void compare_report(const kalstream_report* report, const char* counts) {
  char text[100];
  snprintf(text, sizeof text, "%d %" PRIu64 " %" PRIu64 " %" PRIu64, (int)report->status,
           report->experts, report->applied, report->rejected);
  compare(&report->covariance_trace, out, 1);
  if (strcmp(text, counts) != 0) fail("another report");
}

static void step(const char* call, char* text) {
  kalstream_report report;
  char* counts = strchr(strstr(text, "= ") + 2, ' ');
  report.size = sizeof report;
  *counts = '\0';
  read_numbers(text);
  if (strcmp(call, "learn") == 0)
    check(kalstream_learner_learn(learner, in, n_x, in + n_x, ins - n_x, &report));
  else
    check(kalstream_learner_advance(learner, in, ins, &report));
  compare_report(&report, counts + 1);
}

static void forecast(int bounded, char* text) {
  const size_t horizon = (size_t)strtoul(text, &text, 10);
  const size_t size = horizon * n_d;
  read_numbers(text);
  check(kalstream_learner_forecast(learner, horizon, in, ins, now, bounded ? now + size : NULL,
                                   bounded ? now + 2 * size : NULL, size));
  compare(now, out, outs);
}

static void reload(void) {
  unsigned char* bytes = NULL;
  size_t size = 0;
  kalstream_learner* copy = NULL;
  check(kalstream_learner_save(learner, &bytes, &size));
  kalstream_learner_free(learner);
  learner = NULL;
  check(kalstream_learner_load(bytes, size, NULL, &learner));
  kalstream_free(bytes);
  check(kalstream_learner_clone(learner, &copy)); /* and a copy is as good */
  kalstream_learner_free(learner);
  learner = copy;
}

static void ask_learner(const char* call, char* text) {
  if (strcmp(call, "learn") == 0 || strcmp(call, "advance") == 0) {
    step(call, text);
  } else if (strcmp(call, "forecast") == 0 || strcmp(call, "bounds") == 0) {
    forecast(strcmp(call, "bounds") == 0, text);
  } else if (strcmp(call, "snapshot") == 0) {
    unsigned char* bytes = NULL;
    size_t size = 0;
    check(kalstream_learner_snapshot(learner, &bytes, &size));
    compare_bytes(bytes, size, text + strlen("= "));
    kalstream_free(bytes);
  } else {
    read_numbers(text);
    if (strcmp(call, "predict") == 0)
      check(kalstream_learner_predict(learner, in, ins, now, n_d));
    else if (strcmp(call, "interval") == 0)
      check(kalstream_learner_interval(learner, in, ins, NULL, now, now + n_d, n_d));
    else if (strcmp(call, "surprise") == 0)
      check(kalstream_learner_surprise(learner, in, n_x, in + n_x, now, n_d));
    else if (strcmp(call, "weights") == 0)
      check(kalstream_learner_weights(learner, now, outs));
    else
      fail("this call is not known");
    compare(now, out, outs);
  }
}

static kalstream_stream* stream = NULL;
static char settings_of_stream[1000];
static int answers;
static char* answer = NULL;

static void make_stream(const char* text) {
  answers = atoi(text);
  snprintf(settings_of_stream, sizeof settings_of_stream, "%s", text + 2);
  kalstream_stream_free(stream);
  check(kalstream_stream_new(settings_of_stream, answers, &stream));
}

static void take(const char* line) {
  const char* said = NULL;
  size_t length = 0;
  char* at;
  check(kalstream_stream_take(stream, line, strlen(line), &said, &length));
  if (said == NULL) said = "none";
  answer = realloc(answer, strlen(said) + 1);
  strcpy(answer, said);
  for (at = answer; *at != '\0'; ++at)
    if (*at == '\n') *at = '\v';
}

static void resume(void) {
  unsigned char* bytes = NULL;
  size_t size = 0;
  check(kalstream_stream_checkpoint(stream, &bytes, &size));
  kalstream_stream_free(stream);
  check(kalstream_stream_new(settings_of_stream, answers, &stream));
  check(kalstream_stream_resume(stream, bytes, size));
  kalstream_free(bytes);
}

static void look_at_state(char* text) {
  unsigned char* bytes = NULL;
  size_t size = 0;
  char* equals = strstr(text, "= ");
  const size_t key_length = equals == text ? 0 : (size_t)(equals - text) - 1;
  check(kalstream_stream_state_of(stream, text, key_length, &bytes, &size));
  compare_bytes(bytes, size, equals + 2);
  check(kalstream_stream_put_state(stream, text, key_length, bytes, size));
  kalstream_free(bytes);
}

static void handle(char* text) {
  static char nothing[] = "";
  const char* call = text;
  char* rest = strchr(text, ' ');
  if (rest == NULL)
    rest = nothing;
  else
    *rest++ = '\0';
  if (strcmp(call, "learner") == 0)
    make_learner(rest);
  else if (strcmp(call, "reload") == 0)
    reload();
  else if (strcmp(call, "resume") == 0)
    resume();
  else if (strcmp(call, "stream") == 0)
    make_stream(rest);
  else if (strcmp(call, "line") == 0)
    take(rest);
  else if (strcmp(call, "answer") == 0) {
    if (strcmp(answer, rest) != 0) fail(answer);
    ++compared;
  } else if (strcmp(call, "state") == 0)
    look_at_state(rest);
  else if (strcmp(call, "forget") == 0)
    check(kalstream_stream_forget(stream, rest, strlen(rest)));
  else
    ask_learner(call, rest);
}

int main(int argc, char** argv) {
  static char text[1 << 20];
  FILE* file = argc == 2 ? fopen(argv[1], "r") : NULL;
  if (file == NULL) {
    fprintf(stderr, "usage: parity FILE\n");
    return 2;
  }
  check(kalstream_require_abi(KALSTREAM_ABI));
  while (fgets(text, sizeof text, file) != NULL) {
    ++line_number;
    text[strcspn(text, "\n")] = '\0';
    handle(text);
  }
  fclose(file);
  kalstream_learner_free(learner);
  kalstream_stream_free(stream);
  free(answer);
  printf("%lu numbers and answers are those of C++\n", compared);
  return compared > 1000 ? 0 : 1;
}
