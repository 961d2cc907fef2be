#include "lines/line_place.h"

#include "core/archive.h"

namespace kalstream {

void FilePlace::exchange(Archive& archive) {
  archive.count(offset);
  for (Stretch* stretch : {&head, &tail}) {
    archive.count(stretch->length, Stretch::longest);
    archive.word(stretch->sum);
  }
  archive.require(tail.length <= offset);
}

void LinePlace::exchange(Archive& archive) {
  archive.count(line);
  archive.count(cut);
  file.exchange(archive);
  dialect.exchange(archive);
}

}  // namespace kalstream
