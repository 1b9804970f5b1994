// SECTILE_DUMP and SECTILE_OVERRIDE: stages as files, out and in.
//
// A dump is laid out as <directory>/<kernel>-<first digits of the key>/: one file a stage and "schedule.json" with the
// key, target, schedule, resources and a fingerprint of each stage's file. Overrides are read from such a folder, which
// is a dump of the same kernel edited by hand, or from <directory>/<kernel>/, which applies to every variant. In an
// edited dump, files that still have the fingerprint of "schedule.json" replace nothing.
#pragma once

#include "compiler/support/StageSink.h"
#include "runtime/DumpFilter.h"
#include "runtime/Log.h"

#include "llvm/ADT/StringMap.h"

#include <atomic>

namespace sectile {

/// Writes stages to files. Trouble is logged once and never fails a call.
class StageDump {
public:
  /// Throws UserError when the directory cannot be made.
  StageDump(const std::string &setting, Log &log);

  bool wants(llvm::StringRef kernel) const { return filter.matches(kernel); }
  void write(llvm::StringRef kernel, llvm::StringRef key, const Stage &stage);
  /// Every stage and "schedule.json".
  void write(const Executable &executable);

private:
  void writeFile(llvm::StringRef kernel, llvm::StringRef key, llvm::StringRef file, llvm::StringRef text);

  DumpFilter filter;
  Log &log;
  std::atomic<bool> warned = false;
};

/// The edited stages of one kernel: file name -> text.
using Replacements = llvm::StringMap<std::string>;

/// Reads edited stages.
class StageOverrides {
public:
  /// Throws UserError when the directory is not there.
  StageOverrides(const std::string &directory, Log &log);

  /// The files that replace stages of a kernel. Throws UserError when one cannot be read.
  Replacements find(llvm::StringRef kernel, llvm::StringRef key) const;

private:
  void collect(const std::string &folder, Replacements &replacements) const;
  void warnOfOtherKeys(llvm::StringRef kernel, llvm::StringRef key) const;

  const std::string directory;
  Log &log;
};

/// The key of a kernel compiled with edited stages: the original when there are none.
std::string keyWith(const Replacements &replacements, const std::string &key);

} // namespace sectile
