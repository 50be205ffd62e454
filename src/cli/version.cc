#include "base/version.h"

#include <libpq-fe.h>
#include <librdkafka/rdkafka.h>

#include "cli/shared/exit_code.h"
#include "cli/shared/output.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "fmt/format.h"

namespace walpost {

void AddVersion(CLI::App& app, int& exit_code) {
  Verb verb(app, "version",
            "Print the versions of walpost and of "
            "the libraries that it runs with");
  verb.Footer("Exit code: 0.");
  verb.Callback([&exit_code] {
    const int libpq = PQlibVersion();
    Print("walpost {}\nlibpq {}.{}\nlibrdkafka {}\n", kVersion, libpq / 10000,
          libpq % 10000, rd_kafka_version_str());
    exit_code = kExitOk;
  });
}

}  // namespace walpost
