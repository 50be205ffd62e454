// The commands of walpost in messages.
//
// A message that names a command says `walpost VERB -c FILE`, whichever room it
// comes from, and also where it is stored. The code that shows it (log, HTTP
// pages, the output of a verb) fills in the arguments of this process, so that
// the command can be pasted:
//
//   walpost skip -c FILE 0/154F6A8/3 --why REASON
//   walpost skip -c '/etc/wal post.yaml' 0/154F6A8/3 --why REASON
//
// Pure, except for the arguments, which are those of the process.
#pragma once

#include <string>
#include <string_view>

namespace walpost {

// The placeholder of the arguments in messages.
inline constexpr std::string_view kOwnArguments = "-c FILE";

// `text` as one word of a POSIX shell: in single quotes if it needs them.
std::string ShellWord(std::string_view text);
// The same, in quotes in any case.
std::string ShellQuoted(std::string_view text);

// Arguments that a command needs to have the configuration of this process, as
// words of a shell. To be set once, before there is a second thread that shows
// messages.
void SetOwnArguments(std::string arguments);

// `text` with the arguments filled in; as it is, if none are set.
std::string WithOwnArguments(std::string_view text);

}  // namespace walpost
