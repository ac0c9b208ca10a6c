// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ringscope::traces {

/// A way to run a command line on another machine: a program and its arguments, to which the
/// command line is added as one more argument. Examples: `ssh gpu-box`, `docker exec -i box sh -c`.
struct RemoteShell {
  std::vector<std::string> words;
  std::string machine;  ///< the machine's name for messages
};

/// A recording on another machine.
struct RemoteAddress {
  RemoteShell shell;
  std::string path;  ///< relative to the folder in which the remote shell starts, unless it is
                     ///< absolute
};

/// Reports whether a text is an address of a recording on another machine, and not a path here.
bool isRemoteAddress(std::string_view text);

/// Parses `ssh://[USER@]HOST[:PORT]/PATH` or `shell://PREFIX/PATH`. PREFIX and PATH can have
/// %-escapes. A PATH that begins with ~/ is relative to the home folder. The environment variable
/// RINGSCOPE_SSH replaces the words `ssh`. Throws usageError.
RemoteAddress parseRemoteAddress(const std::string& text);

/// Returns the address of a recording that a command prefix reaches.
std::string shellAddress(const std::string& prefix, const std::string& path);

/// Returns the remote shell that a user's command prefix starts. Throws usageError when it has no
/// words, or a quote that is not closed.
RemoteShell parseShell(const std::string& prefix);

/// Splits a text into words as a shell does, with quotes and backslashes and without any expansion.
/// Throws usageError when a quote is not closed.
std::vector<std::string> splitWords(const std::string& text);

/// The line that the other machine prints before the output of the command. Everything before it
/// comes from start-up files of the shell.
inline constexpr std::string_view kBeginLine = "ringscope begins\n";

/// Returns the command that runs `ringscope ARGUMENTS` on the other machine, after kBeginLine. The
/// environment variable RINGSCOPE_REMOTE replaces `ringscope` there by other shell text. `before`
/// is shell text that runs first.
std::vector<std::string> remoteCommand(const RemoteShell& shell,
                                       const std::vector<std::string>& arguments,
                                       const std::string& before = {});

/// Explains why a command on another machine ended before its output began. `errors` is what it
/// wrote to standard error.
std::string describeRemoteEnd(const RemoteShell& shell, int exit_code, const std::string& errors);

}  // namespace ringscope::traces
