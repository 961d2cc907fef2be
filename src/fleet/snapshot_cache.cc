#include "fleet/snapshot_cache.h"

#include <fmt/format.h>

#include <ctime>

#include "core/quiet_thread.h"

namespace kalstream::fleet {

namespace {

using namespace std::chrono_literals;

// A key that was forgotten meanwhile leaves a mark in the topic of states for a day.
constexpr std::int64_t oldest_seconds = std::int64_t{12} * 3600;
constexpr std::size_t most_waiting = std::size_t{256} << 20;

std::int64_t now() { return static_cast<std::int64_t>(std::time(nullptr)); }

std::string value_of(const Message& message, const char* header) {
  for (const Header& h : message.headers)
    if (h.name == header) return h.value;
  return {};
}

}  // namespace

// What a killed process leaves is whole. What a power cut leaves need not be: that is noticed.
struct SnapshotCache::File {
  File(const std::filesystem::path& path, System& system) : database(path, system) {}

  struct Tables {
    explicit Tables(Database& d) { d.run(text); }
    static constexpr const char* text =
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
        "CREATE TABLE IF NOT EXISTS place (fleet BLOB, upto INTEGER, time INTEGER);"
        "CREATE TABLE IF NOT EXISTS snapshots (key BLOB PRIMARY KEY, included BLOB, chain BLOB, "
        "state BLOB)";
  };

  Database database;
  Tables tables{database};
  Database::Statement put{database, "INSERT OR REPLACE INTO snapshots VALUES (?1, ?2, ?3, ?4)"};
  Database::Statement forget{database, "DELETE FROM snapshots WHERE key = ?1"};
  Database::Statement clear_place{database, "DELETE FROM place"};
  Database::Statement put_place{database, "INSERT INTO place VALUES (?1, ?2, ?3)"};
  Database::Statement place{database, "SELECT fleet, upto, time FROM place"};
  Database::Statement all{database, "SELECT key, included, chain, state FROM snapshots"};
};

SnapshotCache::SnapshotCache(std::filesystem::path folder, std::string fleet, Say say,
                             System& system)
    : folder_(std::move(folder)),
      fleet_(std::move(fleet)),
      say_(std::move(say)),
      system_(system),
      thread_(start_quiet_thread([this] { run(); })) {}

SnapshotCache::~SnapshotCache() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::filesystem::path SnapshotCache::path_of(int partition) const {
  return folder_ / fmt::format("snapshots-{}.db", partition);
}

SnapshotCache::File& SnapshotCache::file_of(int partition) {
  auto& file = open_[partition];
  if (!file) file = std::make_unique<File>(path_of(partition), system_);
  return *file;
}

void SnapshotCache::remove(int partition) {
  open_.erase(partition);
  for (const char* end : {"", "-wal", "-shm", "-journal"})
    system_.remove(path_of(partition).string() + end);
}

void SnapshotCache::give_up(int partition, const std::string& why) {
  remove(partition);
  if (without_.insert(partition).second)
    say_(fmt::format("no local snapshots of partition {}: {}", partition, why));
}

void SnapshotCache::discard(int partition, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    news_.erase(partition);
  }
  const std::lock_guard lock(writing_);
  say_(fmt::format("the local snapshots of partition {} are not used: {}", partition, why));
  remove(partition);
}

// ---- Writing.

void SnapshotCache::add(int partition, std::vector<Message> states, Offset upto) {
  const std::lock_guard lock(mutex_);
  News& news = news_[partition];
  news.upto = upto;
  for (Message& m : states) {
    news.bytes += m.value ? m.value->size() : 0;
    std::string key = *m.key;
    news.states.insert_or_assign(std::move(key), std::move(m));
  }
}

void SnapshotCache::run() {
  for (bool stop = false; !stop;) {
    {
      std::unique_lock lock(mutex_);
      stop = changed_.wait_for(lock, 1s, [this] { return stop_; });
    }
    write_all();
  }
}

void SnapshotCache::write_all() {
  const std::lock_guard writing(writing_);
  std::map<int, News> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(news_);
  }
  for (auto& [partition, news] : all)
    if (!without_.contains(partition)) write(partition, news);
}

void SnapshotCache::write(int partition, News& news) {
  try {
    if (news.bytes > most_waiting) throw StoreError("the disk is too slow");
    File& file = file_of(partition);
    Transaction transaction(file.database);
    for (const auto& [key, m] : news.states) {
      if (!m.value) {
        file.forget.with(1, key).step();
        continue;
      }
      const std::string included = value_of(m, included_header);
      const std::string chain = value_of(m, chain_header);
      file.put.with(1, key).with(2, included).with(3, chain).with(4, *m.value).step();
    }
    file.clear_place.step();
    file.put_place.with(1, fleet_).with(2, news.upto).with(3, now()).step();
    transaction.commit();
  } catch (const std::runtime_error& error) {
    give_up(partition, error.what());
  }
}

// ---- Reading.

std::optional<Offset> SnapshotCache::read(int partition, Offset upto,
                                          const std::function<void(const StateRecord&)>& take) {
  write_all();
  const std::lock_guard writing(writing_);
  if (without_.contains(partition) || !system_.exists(path_of(partition))) return {};
  std::optional<std::string> why;
  try {
    File& file = file_of(partition);
    if (!file.place.step()) return {};
    const std::string fleet = file.place.text(0);
    const Offset is_upto = file.place.number(1);
    const std::int64_t age = now() - file.place.number(2);
    file.place.reset();
    if (fleet != fleet_)
      why = "they are of another fleet";
    else if (age > oldest_seconds || age < -60)
      why = fmt::format("they are {} hours old", age / 3600);
    else if (is_upto > upto)
      why = "they are younger than what is committed";
    if (!why) {
      std::string key;
      while (file.all.step()) {
        key = file.all.text(0);
        const std::string included = file.all.text(1);
        const std::string chain = file.all.text(2);
        const std::string state = file.all.text(3);
        take({.partition = partition,
              .offset = is_upto,
              .key = key,
              .value = state,
              .headers = {{included_header, included}, {chain_header, chain}}});
      }
      return is_upto;
    }
  } catch (const std::runtime_error& error) {
    why = error.what();
  }
  say_(fmt::format("the local snapshots of partition {} are not used: {}", partition, *why));
  remove(partition);
  return {};
}

}  // namespace kalstream::fleet
