// The command line as a whole: the verb, and what is said where it does not
// parse. CLI11 does the rest.
#pragma once

namespace CLI {
class App;
}

namespace walpost {

// Parses, and thereby runs the verb. Returns kExitOk when a verb ran or help
// was printed, else kExitUsage: one line on stderr has named the word that is
// wrong and the help to read.
int ParseCommandLine(CLI::App& app, int argc, const char* const* argv);

}  // namespace walpost
