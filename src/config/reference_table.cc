#include <set>

#include "absl/strings/str_replace.h"
#include "config/reference.h"
#include "config/reference_keys.h"
#include "fmt/format.h"

namespace walpost {
namespace {

std::string ReloadNote(KeyText::Reload reload) {
  switch (reload) {
    case KeyText::Reload::kYes:
      return ". SIGHUP takes up a new value";
    case KeyText::Reload::kCredentials:
      return ". SIGHUP takes up new credentials";
    case KeyText::Reload::kNo:
      return "";
  }
  return "";
}

}  // namespace

std::string ReferenceTable() {
  std::string table =
      "| Key | Values | Default | Meaning |\n|---|---|---|---|\n";
  std::set<std::string> done;
  for (const KeyDescription& key : ReferenceKeys()) {
    const std::string path = GeneralPath(key);
    if (!done.insert(path).second) continue;
    const KeyText& text = TextOf(key);
    table += fmt::format("| {} |", Code(path));
    for (const std::string& cell :
         {ValuesOf(key), ShownDefault(key),
          std::string(text.text) + ReloadNote(text.reload)}) {
      table += fmt::format(" {} |", absl::StrReplaceAll(cell, {{"|", "\\|"}}));
    }
    table += '\n';
  }
  return table;
}

}  // namespace walpost
