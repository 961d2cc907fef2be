/* goes_on SETTINGS [CHECKPOINT]: the lines of standard input through a stream that goes on from the
 * file, if one is named; the answers on standard output, and then the checkpoint anew in the file
 * "after". */
#include <kalstream/kalstream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int code) {
  if (code == KALSTREAM_OK) return;
  fprintf(stderr, "goes_on: %s\n", kalstream_error());
  exit(1);
}

static void resume(kalstream_stream* stream, const char* path) {
  static unsigned char bytes[1 << 24];
  FILE* file = fopen(path, "rb");
  size_t size;
  if (file == NULL) exit(2);
  size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  check(kalstream_stream_resume(stream, bytes, size));
}

int main(int argc, char** argv) {
  static char line[1 << 16];
  kalstream_stream* stream = NULL;
  unsigned char* bytes = NULL;
  size_t size = 0;
  FILE* after;
  if (argc < 2) return 2;
  check(kalstream_stream_new(argv[1], KALSTREAM_AS_RECORDS, &stream));
  if (argc > 2) resume(stream, argv[2]);
  while (fgets(line, sizeof line, stdin) != NULL) {
    const char* answer = NULL;
    size_t length = 0;
    check(kalstream_stream_take(stream, line, strlen(line), &answer, &length));
    if (answer != NULL) printf("%s\n", answer);
  }
  check(kalstream_stream_checkpoint(stream, &bytes, &size));
  kalstream_stream_free(stream);
  after = fopen("after", "wb");
  if (after == NULL || fwrite(bytes, 1, size, after) != size || fclose(after) != 0) return 2;
  kalstream_free(bytes);
  return 0;
}
