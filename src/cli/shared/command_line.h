// The command line as a whole: the verb, and the messages if it does not parse.
// CLI11 does the rest.
#pragma once

namespace CLI {
class App;
}

namespace walpost {

// Parses the line, and thereby runs the verb. Returns kExitOk if a verb ran or
// help was printed, else kExitUsage: then one line on stderr has named the
// wrong word and the help to read.
int ParseCommandLine(CLI::App& app, int argc, const char* const* argv);

}  // namespace walpost
