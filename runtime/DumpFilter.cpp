#include "runtime/DumpFilter.h"

#include "compiler/support/Diagnostic.h"

#include "llvm/Support/GlobPattern.h"

using namespace sectile;

llvm::Expected<DumpFilter> DumpFilter::parse(llvm::StringRef text) {
  DumpFilter filter;
  if (text.contains(':'))
    std::tie(filter.directory, filter.glob) = std::pair<std::string, std::string>(text.rsplit(':'));
  else
    filter.directory = text.str();
  if (filter.directory.empty())
    return userError("the directory is empty");
  if (filter.glob.empty())
    return userError("the glob after ':' is empty");
  if (llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(filter.glob); !pattern)
    return userError("glob '" + filter.glob + "': " + llvm::toString(pattern.takeError()));
  return filter;
}

bool DumpFilter::matches(llvm::StringRef kernel) const {
  return llvm::cantFail(llvm::GlobPattern::create(glob)).match(kernel); // the pattern points into `glob`: not kept
}
