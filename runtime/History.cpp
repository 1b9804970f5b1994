#include "runtime/History.h"

using namespace sectile;

History::Line &History::append(Line line) {
  if (lines.size() < capacity)
    return lines.emplace_back(std::move(line));
  Line &replaced = lines[oldest];
  replaced = std::move(line);
  oldest = (oldest + 1) % capacity;
  return replaced;
}

/// The last line when it is about this kernel, else a new one.
History::Line &History::lineOf(const LoadedKernel *kernel) {
  if (!lines.empty())
    if (Line &last = lines[(oldest + lines.size() - 1) % lines.size()]; last.kernel == kernel)
      return last;
  return append({kernel, {}, 0});
}

void History::recordHit(const LoadedKernel *kernel) {
  std::lock_guard lock(mutex);
  ++totals.memoryHits;
  lineOf(kernel);
}

void History::recordLaunch(const LoadedKernel *kernel, bool hit) {
  std::lock_guard lock(mutex);
  ++totals.launches;
  totals.memoryHits += hit;
  ++lineOf(kernel).launches;
}

void History::recordMiss(const LoadedKernel *kernel, Miss miss) {
  std::lock_guard lock(mutex);
  switch (miss.source) {
  case LaunchRecord::Source::memory:
    ++totals.memoryHits;
    break;
  case LaunchRecord::Source::disk:
    ++totals.diskHits;
    break;
  case LaunchRecord::Source::compiled:
    ++totals.compilations;
    break;
  }
  append({kernel, std::move(miss), 0});
}

CacheCounters History::counters() const {
  std::lock_guard lock(mutex);
  return totals;
}

std::vector<LaunchRecord> History::records() const {
  std::lock_guard lock(mutex);
  std::vector<LaunchRecord> result;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Line &line = lines[(oldest + i) % lines.size()];
    result.push_back({line.kernel->name(), line.kernel->key(), line.miss.source, line.miss.reason, line.miss.compileMs,
                      line.miss.loadMs, line.launches});
  }
  return result;
}
