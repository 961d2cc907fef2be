/* The functions of kalstream.h for index.js, which makes classes of them. A handle is an external
 * value that frees what it holds when JavaScript has forgotten it. */
#define NAPI_VERSION 8
#include <kalstream/kalstream.h>
#include <node_api.h>
#include <stdlib.h>
#include <string.h>

enum { most_arguments = 5 };

/* ---- Errors: each function returns NULL, with an exception pending. */

static const char* name_of(int code) {
  static const char* const names[] = {"",          "INVALID", "UNUSABLE", "SNAPSHOT", "SCHEMA",
                                      "NOT_FOUND", "MEMORY",  "BUSY",     "INTERNAL"};
  return code > 0 && code < (int)(sizeof names / sizeof *names) ? names[code] : "INTERNAL";
}

static int failed(napi_env env, int code) {
  if (code == KALSTREAM_OK) return 0;
  napi_throw_error(env, name_of(code), kalstream_error());
  return 1;
}

static napi_value refuse(napi_env env, const char* message) {
  napi_throw_error(env, "INVALID", message);
  return NULL;
}

/* ---- From JavaScript. */

typedef struct {
  napi_env env;
  napi_value of[most_arguments];
} Arguments;

static Arguments arguments(napi_env env, napi_callback_info info) {
  Arguments a;
  size_t count = most_arguments;
  a.env = env;
  napi_get_cb_info(env, info, &count, a.of, NULL, NULL); /* those that are missing are undefined */
  return a;
}

static void* handle(Arguments a) {
  void* held = NULL;
  napi_get_value_external(a.env, a.of[0], &held);
  return held; /* NULL is what the library refuses */
}

typedef struct {
  double* values;
  size_t count;
} Numbers;

/* Of a Float64Array, which index.js makes of all that comes. */
static Numbers numbers(Arguments a, int k) {
  Numbers n = {NULL, 0};
  void* data = NULL;
  napi_typedarray_type type;
  if (napi_get_typedarray_info(a.env, a.of[k], &type, &n.count, &data, NULL, NULL) != napi_ok ||
      type != napi_float64_array)
    n.count = 0;
  else
    n.values = data;
  return n;
}

typedef struct {
  unsigned char* values;
  size_t count;
} Bytes;

static Bytes bytes(Arguments a, int k) {
  Bytes b = {NULL, 0};
  void* data = NULL;
  if (napi_get_buffer_info(a.env, a.of[k], &data, &b.count) == napi_ok) b.values = data;
  return b;
}

/* To be freed. */
static char* text(Arguments a, int k, size_t* length) {
  size_t size = 0;
  char* copy;
  if (napi_get_value_string_utf8(a.env, a.of[k], NULL, 0, &size) != napi_ok) size = 0;
  copy = calloc(size + 1, 1);
  if (copy != NULL && size > 0) napi_get_value_string_utf8(a.env, a.of[k], copy, size + 1, &size);
  if (length != NULL) *length = size;
  return copy;
}

static size_t whole(Arguments a, int k) {
  double v = 0;
  napi_get_value_double(a.env, a.of[k], &v);
  return v >= 0 && v <= 9007199254740992.0 ? (size_t)v : SIZE_MAX;
}

/* ---- To JavaScript. */

static napi_value array_of(napi_env env, size_t count, double** values) {
  napi_value buffer;
  napi_value array;
  void* data = NULL;
  if (napi_create_arraybuffer(env, count * sizeof(double), &data, &buffer) != napi_ok) return NULL;
  if (napi_create_typedarray(env, napi_float64_array, count, buffer, 0, &array) != napi_ok)
    return NULL;
  *values = data;
  return array;
}

static napi_value nothing(napi_env env) {
  napi_value none;
  napi_get_null(env, &none);
  return none;
}

static napi_value string_of(napi_env env, const char* value, size_t length) {
  napi_value string;
  return napi_create_string_utf8(env, value, length, &string) == napi_ok ? string : NULL;
}

static napi_value number_of(napi_env env, double v) {
  napi_value number;
  napi_create_double(env, v, &number);
  return number;
}

static napi_value given_text(napi_env env, int code, char* made) {
  napi_value string;
  if (failed(env, code)) return NULL;
  string = string_of(env, made, NAPI_AUTO_LENGTH);
  kalstream_free(made);
  return string;
}

static napi_value given_bytes(napi_env env, int code, unsigned char* made, size_t size) {
  napi_value buffer = NULL;
  if (code == KALSTREAM_NOT_FOUND) return nothing(env);
  if (failed(env, code)) return NULL;
  napi_create_buffer_copy(env, size, made, NULL, &buffer);
  kalstream_free(made);
  return buffer;
}

static void free_learner(napi_env env, void* held, void* hint) {
  (void)env;
  (void)hint;
  kalstream_learner_free(held);
}

static void free_stream(napi_env env, void* held, void* hint) {
  (void)env;
  (void)hint;
  kalstream_stream_free(held);
}

static napi_value external(napi_env env, int code, void* held, napi_finalize free_it) {
  napi_value value = NULL;
  if (failed(env, code)) return NULL;
  if (napi_create_external(env, held, free_it, NULL, &value) != napi_ok) free_it(env, held, NULL);
  return value;
}

/* ---- What there is. */

static napi_value version(napi_env env, napi_callback_info info) {
  (void)info;
  return string_of(env, kalstream_version(), NAPI_AUTO_LENGTH);
}

static napi_value learners(napi_env env, napi_callback_info info) {
  char* json = NULL;
  const int code = kalstream_learners(&json);
  (void)info;
  return given_text(env, code, json);
}

static napi_value describe(napi_env env, napi_callback_info info) {
  const Bytes b = bytes(arguments(env, info), 0);
  char* json = NULL;
  const int code = kalstream_describe(b.values, b.count, &json);
  return given_text(env, code, json);
}

/* ---- Learners. */

/* Of an array of strings: keys and values in turn, and then NULL. */
static char** settings(Arguments a, int k) {
  uint32_t count = 0;
  uint32_t at;
  char** list;
  Arguments element = a;
  napi_get_array_length(a.env, a.of[k], &count);
  list = calloc((size_t)count + 1, sizeof *list);
  for (at = 0; list != NULL && at < count; ++at) {
    napi_get_element(a.env, a.of[k], at, &element.of[0]);
    list[at] = text(element, 0, NULL);
  }
  return list;
}

static void free_settings(char** list) {
  size_t k;
  for (k = 0; list != NULL && list[k] != NULL; ++k) free(list[k]);
  free(list);
}

static napi_value learner_new(napi_env env, napi_callback_info info) {
  const Arguments a = arguments(env, info);
  char* name = text(a, 0, NULL);
  char** list = settings(a, 3);
  kalstream_learner* learner = NULL;
  const int code =
      kalstream_learner_new(name, whole(a, 1), whole(a, 2), (const char* const*)list, &learner);
  free(name);
  free_settings(list);
  return external(env, code, learner, free_learner);
}

static napi_value learner_load(napi_env env, napi_callback_info info) {
  const Bytes b = bytes(arguments(env, info), 0);
  kalstream_learner* learner = NULL;
  const int code = kalstream_learner_load(b.values, b.count, NULL, &learner);
  return external(env, code, learner, free_learner);
}

static napi_value learner_clone(napi_env env, napi_callback_info info) {
  kalstream_learner* copy = NULL;
  const int code = kalstream_learner_clone(handle(arguments(env, info)), &copy);
  return external(env, code, copy, free_learner);
}

static napi_value learner_reset(napi_env env, napi_callback_info info) {
  failed(env, kalstream_learner_reset(handle(arguments(env, info))));
  return NULL;
}

/* [inputs, outputs, samples] */
static napi_value learner_size(napi_env env, napi_callback_info info) {
  size_t inputs = 0;
  size_t outputs = 0;
  uint64_t samples = 0;
  double* values = NULL;
  napi_value array;
  if (failed(env,
             kalstream_learner_size(handle(arguments(env, info)), &inputs, &outputs, &samples)))
    return NULL;
  array = array_of(env, 3, &values);
  if (array == NULL) return NULL;
  values[0] = (double)inputs;
  values[1] = (double)outputs;
  values[2] = (double)samples;
  return array;
}

static size_t outputs_of(kalstream_learner* learner) {
  size_t outputs = 0;
  kalstream_learner_size(learner, NULL, &outputs, NULL);
  return outputs;
}

static napi_value learner_predict(napi_env env, napi_callback_info info) {
  const Arguments a = arguments(env, info);
  kalstream_learner* learner = handle(a);
  const Numbers x = numbers(a, 1);
  const size_t outputs = outputs_of(learner);
  double* d_hat = NULL;
  napi_value array = array_of(env, outputs, &d_hat);
  if (array == NULL) return NULL;
  return failed(env, kalstream_learner_predict(learner, x.values, x.count, d_hat, outputs)) ? NULL
                                                                                            : array;
}

/* Values, low and high, one after the other. */
static napi_value learner_interval(napi_env env, napi_callback_info info) {
  const Arguments a = arguments(env, info);
  kalstream_learner* learner = handle(a);
  const Numbers x = numbers(a, 1);
  const size_t n = outputs_of(learner);
  double* v = NULL;
  napi_value array = array_of(env, 3 * n, &v);
  if (array == NULL) return NULL;
  return failed(env, kalstream_learner_interval(learner, x.values, x.count, v, v + n, v + 2 * n, n))
             ? NULL
             : array;
}

static napi_value learner_surprise(napi_env env, napi_callback_info info) {
  const Arguments a = arguments(env, info);
  const Numbers x = numbers(a, 1);
  const Numbers d = numbers(a, 2);
  double* p = NULL;
  napi_value array = array_of(env, d.count, &p);
  if (array == NULL) return NULL;
  return failed(env, kalstream_learner_surprise(handle(a), x.values, x.count, d.values, p, d.count))
             ? NULL
             : array;
}

/* [status, experts, applied, rejected, trace] */
static napi_value report_of(napi_env env, int code, const kalstream_report* report) {
  double* values = NULL;
  napi_value array;
  if (failed(env, code)) return NULL;
  array = array_of(env, 5, &values);
  if (array == NULL) return NULL;
  values[0] = report->status;
  values[1] = (double)report->experts;
  values[2] = (double)report->applied;
  values[3] = (double)report->rejected;
  values[4] = report->covariance_trace;
  return array;
}

/* One sample with its target, learnt or only observed. */
typedef int (*Step)(kalstream_learner*, const double*, size_t, const double*, size_t,
                    kalstream_report*);

static napi_value step(napi_env env, napi_callback_info info, Step way) {
  const Arguments a = arguments(env, info);
  const Numbers x = numbers(a, 1);
  const Numbers d = numbers(a, 2);
  kalstream_report r = {sizeof r, 0, 0, 0, 0, 0, 0};
  return report_of(env, way(handle(a), x.values, x.count, d.values, d.count, &r), &r);
}

static napi_value learner_learn(napi_env env, napi_callback_info info) {
  return step(env, info, kalstream_learner_learn);
}

static napi_value learner_observe(napi_env env, napi_callback_info info) {
  return step(env, info, kalstream_learner_observe);
}

static napi_value learner_advance(napi_env env, napi_callback_info info) {
  const Arguments a = arguments(env, info);
  const Numbers x = numbers(a, 1);
  kalstream_report r = {sizeof r, 0, 0, 0, 0, 0, 0};
  return report_of(env, kalstream_learner_advance(handle(a), x.values, x.count, &r), &r);
}

/* (handle, horizon, future, with bounds): values, and then low and high. */
static napi_value learner_forecast(napi_env env, napi_callback_info info) {
  const Arguments a = arguments(env, info);
  kalstream_learner* learner = handle(a);
  const size_t horizon = whole(a, 1);
  const Numbers future = numbers(a, 2);
  const size_t outputs = outputs_of(learner);
  size_t n;
  bool bounded = false;
  double* v = NULL;
  napi_value array;
  napi_get_value_bool(env, a.of[3], &bounded);
  if (horizon < 1 || horizon > ((size_t)1 << 26) / (outputs + 1))
    return refuse(env, "horizon: this is no number of samples it can be");
  n = horizon * outputs;
  array = array_of(env, bounded ? 3 * n : n, &v);
  if (array == NULL) return NULL;
  return failed(env,
                kalstream_learner_forecast(learner, horizon, future.values, future.count, v,
                                           bounded ? v + n : NULL, bounded ? v + 2 * n : NULL, n))
             ? NULL
             : array;
}

static napi_value learner_expect_periods(napi_env env, napi_callback_info info) {
  const Arguments a = arguments(env, info);
  const Numbers periods = numbers(a, 1);
  failed(env, kalstream_learner_expect_periods(handle(a), periods.values, periods.count));
  return NULL;
}

/* [[name, weight], …] */
static napi_value learner_experts(napi_env env, napi_callback_info info) {
  kalstream_learner* learner = handle(arguments(env, info));
  size_t count = 0;
  size_t k;
  double* weights;
  napi_value list;
  if (failed(env, kalstream_learner_experts(learner, &count))) return NULL;
  weights = calloc(count + 1, sizeof *weights);
  if (weights == NULL || failed(env, kalstream_learner_weights(learner, weights, count))) {
    free(weights);
    return NULL;
  }
  napi_create_array_with_length(env, count, &list);
  for (k = 0; k < count; ++k) {
    const char* name = "";
    napi_value pair;
    kalstream_learner_expert_name(learner, k, &name);
    napi_create_array_with_length(env, 2, &pair);
    napi_set_element(env, pair, 0, string_of(env, name, NAPI_AUTO_LENGTH));
    napi_set_element(env, pair, 1, number_of(env, weights[k]));
    napi_set_element(env, list, (uint32_t)k, pair);
  }
  free(weights);
  return list;
}

static napi_value bytes_of(napi_env env, napi_callback_info info,
                           int (*made_by)(kalstream_learner*, unsigned char**, size_t*)) {
  unsigned char* made = NULL;
  size_t size = 0;
  const int code = made_by(handle(arguments(env, info)), &made, &size);
  return given_bytes(env, code, made, size);
}

static napi_value learner_snapshot(napi_env env, napi_callback_info info) {
  return bytes_of(env, info, kalstream_learner_snapshot);
}

static napi_value learner_save(napi_env env, napi_callback_info info) {
  return bytes_of(env, info, kalstream_learner_save);
}

/* ---- Streams. */

static napi_value stream_new(napi_env env, napi_callback_info info) {
  const Arguments a = arguments(env, info);
  char* json = text(a, 0, NULL);
  kalstream_stream* stream = NULL;
  const int code = kalstream_stream_new(json, (int)whole(a, 1), &stream);
  free(json);
  return external(env, code, stream, free_stream);
}

static napi_value stream_take(napi_env env, napi_callback_info info) {
  const Arguments a = arguments(env, info);
  size_t length = 0;
  char* line = text(a, 1, &length);
  const char* answer = NULL;
  size_t size = 0;
  const int code = kalstream_stream_take(handle(a), line, length, &answer, &size);
  free(line);
  if (failed(env, code)) return NULL;
  return answer == NULL ? nothing(env) : string_of(env, answer, size);
}

static napi_value stream_learn(napi_env env, napi_callback_info info) {
  failed(env, kalstream_stream_learn(handle(arguments(env, info))));
  return NULL;
}

static napi_value text_of(napi_env env, napi_callback_info info,
                          int (*made_by)(kalstream_stream*, char**)) {
  char* made = NULL;
  const int code = made_by(handle(arguments(env, info)), &made);
  return given_text(env, code, made);
}

static napi_value stream_remarks(napi_env env, napi_callback_info info) {
  return text_of(env, info, kalstream_stream_remarks);
}

static napi_value stream_schema(napi_env env, napi_callback_info info) {
  return text_of(env, info, kalstream_stream_schema);
}

static napi_value stream_status(napi_env env, napi_callback_info info) {
  return text_of(env, info, kalstream_stream_status);
}

static napi_value stream_state_of(napi_env env, napi_callback_info info) {
  const Arguments a = arguments(env, info);
  size_t length = 0;
  char* key = text(a, 1, &length);
  unsigned char* made = NULL;
  size_t size = 0;
  const int code = kalstream_stream_state_of(handle(a), key, length, &made, &size);
  free(key);
  return given_bytes(env, code, made, size);
}

static napi_value stream_put_state(napi_env env, napi_callback_info info) {
  const Arguments a = arguments(env, info);
  size_t length = 0;
  char* key = text(a, 1, &length);
  const Bytes state = bytes(a, 2);
  const int code = kalstream_stream_put_state(handle(a), key, length, state.values, state.count);
  free(key);
  failed(env, code);
  return NULL;
}

static napi_value stream_forget(napi_env env, napi_callback_info info) {
  const Arguments a = arguments(env, info);
  size_t length = 0;
  char* key = text(a, 1, &length);
  const int code = kalstream_stream_forget(handle(a), key, length);
  napi_value known;
  free(key);
  if (code != KALSTREAM_NOT_FOUND && failed(env, code)) return NULL;
  napi_get_boolean(env, code == KALSTREAM_OK, &known);
  return known;
}

static napi_value stream_checkpoint(napi_env env, napi_callback_info info) {
  unsigned char* made = NULL;
  size_t size = 0;
  const int code = kalstream_stream_checkpoint(handle(arguments(env, info)), &made, &size);
  return given_bytes(env, code, made, size);
}

static napi_value stream_resume(napi_env env, napi_callback_info info) {
  const Arguments a = arguments(env, info);
  const Bytes b = bytes(a, 1);
  failed(env, kalstream_stream_resume(handle(a), b.values, b.count));
  return NULL;
}

NAPI_MODULE_INIT() {
  static const struct {
    const char* name;
    napi_callback function;
  } all[] = {{"version", version},
             {"learners", learners},
             {"describe", describe},
             {"learnerNew", learner_new},
             {"learnerLoad", learner_load},
             {"learnerClone", learner_clone},
             {"learnerReset", learner_reset},
             {"learnerSize", learner_size},
             {"learnerPredict", learner_predict},
             {"learnerInterval", learner_interval},
             {"learnerSurprise", learner_surprise},
             {"learnerLearn", learner_learn},
             {"learnerObserve", learner_observe},
             {"learnerAdvance", learner_advance},
             {"learnerForecast", learner_forecast},
             {"learnerExpectPeriods", learner_expect_periods},
             {"learnerExperts", learner_experts},
             {"learnerSnapshot", learner_snapshot},
             {"learnerSave", learner_save},
             {"streamNew", stream_new},
             {"streamTake", stream_take},
             {"streamLearn", stream_learn},
             {"streamRemarks", stream_remarks},
             {"streamSchema", stream_schema},
             {"streamStatus", stream_status},
             {"streamStateOf", stream_state_of},
             {"streamPutState", stream_put_state},
             {"streamForget", stream_forget},
             {"streamCheckpoint", stream_checkpoint},
             {"streamResume", stream_resume}};
  size_t k;
  if (kalstream_require_abi(KALSTREAM_ABI) != KALSTREAM_OK) return refuse(env, kalstream_error());
  for (k = 0; k < sizeof all / sizeof *all; ++k) {
    napi_value function;
    napi_create_function(env, all[k].name, NAPI_AUTO_LENGTH, all[k].function, NULL, &function);
    napi_set_named_property(env, exports, all[k].name, function);
  }
  return exports;
}
