// SecretReferences: ${provider:path:key} of Kafka Connect, and ${NAME} of
// Debezium Server, as references that walpost reads.
//
//   ${file:/etc/kafka/db.properties:password}   ${env:PASSWORD}, and a remark
//   ${env:DB_PASSWORD}                          the same
//   ${dir:/mnt/secrets:password}                ${file:/mnt/secrets/password}
//
// walpost's ${file:...} is a whole file, and a provider of Connect's picks one
// key of it. So most become variables, whose values an operator must set.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "import/import_report.h"
#include "import/settings.h"

namespace walpost {

class SecretReferences {
 public:
  // `worker` names the classes of the providers; it and `report` must outlive
  // this.
  SecretReferences(bool is_server, const Settings& worker, ImportReport& report)
      : is_server_(is_server), worker_(worker), report_(report) {}

  static bool HasReference(std::string_view value) {
    return value.find("${") != std::string_view::npos;
  }

  // The value as walpost reads it.
  std::string Translate(const Setting& setting);
  // Likewise, but for a value that is secret: text that is not a reference
  // becomes a variable, and is never shown.
  std::string TranslateSecret(const Setting& setting,
                              const std::string& variable);

 private:
  // Connect replaces only what has a provider.
  bool IsReference(std::string_view inner) const {
    return is_server_ || inner.find(':') != std::string_view::npos;
  }
  std::string Reference(std::string_view inner, const Setting& setting);
  // Whether Connect, or Debezium Server, replaces a part of the value.
  bool IsReplaced(std::string_view value) const;
  void NoteTemplate(std::string_view inner, const Setting& setting);
  // A variable for it that no other reference has.
  std::string Variable(std::string_view key, std::string_view what);

  const bool is_server_;
  const Settings& worker_;
  ImportReport& report_;
  std::map<std::string, std::string> variables_;  // what each stands for
};

}  // namespace walpost
