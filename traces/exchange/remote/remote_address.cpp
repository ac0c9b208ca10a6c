// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/remote/remote_address.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <utility>

#include "traces/format/core/error.h"
#include "traces/format/core/shell_word.h"
#include "traces/format/core/utf8.h"

namespace ringscope::traces {
namespace {

constexpr std::string_view kSshScheme = "ssh://", kShellScheme = "shell://";

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

Error badAddress(const std::string& text, const std::string& why) {
  return usageError(toPlainText(text, 300) + ": " + why +
                    "; an address is ssh://HOST/PATH or ssh://USER@HOST:PORT/PATH");
}

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// Decodes the %-escapes of a part of `address`.
std::string unescape(std::string_view part, const std::string& address) {
  std::string text;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '%') {
      text += part[i];
      continue;
    }
    const int high = i + 2 < part.size() ? hexDigit(part[i + 1]) : -1;
    const int low = i + 2 < part.size() ? hexDigit(part[i + 2]) : -1;
    if (high < 0 || low < 0)
      throw badAddress(address, "'%' begins no escape; write %25 for a percent sign");
    text += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (text.find('\0') != std::string::npos) throw badAddress(address, "it contains a zero byte");
  return text;
}

std::string escape(std::string_view text, std::string_view kept) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && (std::isalnum(byte) || kept.find(c) != std::string_view::npos)) {
      out += c;
      continue;
    }
    out += {'%', kDigits[byte / 16], kDigits[byte % 16]};
  }
  return out;
}

/// Splits what follows the scheme at the first slash, and returns the path as the remote shell
/// must see it.
std::string remotePath(std::string_view rest, std::size_t slash, const std::string& address) {
  if (slash == std::string_view::npos || slash + 1 >= rest.size())
    throw badAddress(address, "the path of the recording is missing");
  std::string path = unescape(rest.substr(slash), address);
  if (!path.starts_with("/~/")) return path;
  if (path.size() == 3) throw badAddress(address, "the path of the recording is missing");
  return "./" + path.substr(3);
}

/// Reports whether ssh takes this text for a host or user and for nothing else.
bool isPlainName(std::string_view name) {
  return !name.empty() && name.front() != '-' && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("._-%:").find(c) != std::string_view::npos;
  });
}

/// The parts of [USER@]HOST[:PORT]; HOST can be an IPv6 address in brackets.
struct Authority {
  std::string user, host, port;
};

Authority parseAuthority(std::string_view text, const std::string& address) {
  Authority parts;
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    parts.user = text.substr(0, at);
    if (!isPlainName(parts.user)) throw badAddress(address, "the user's name cannot be used");
    text.remove_prefix(at + 1);
  }
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) throw badAddress(address, "a bracket is not closed");
    parts.host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
  } else {
    const auto colon = std::min(text.find(':'), text.size());
    parts.host = text.substr(0, colon);
    text.remove_prefix(colon);
  }
  if (!isPlainName(parts.host))
    throw badAddress(address, parts.host.empty() ? "the host is missing"
                                                 : "the name of the host cannot be used");
  if (text.empty()) return parts;
  parts.port = text.substr(1);
  const auto digits = std::ranges::all_of(parts.port, [](char c) { return c >= '0' && c <= '9'; });
  const bool fits = !parts.port.empty() && parts.port.size() <= 5 && digits;
  if (text.front() != ':' || !fits || std::stoi(parts.port) < 1 || std::stoi(parts.port) > 65535)
    throw badAddress(address, "the port is not a number from 1 to 65535");
  return parts;
}

RemoteShell sshShell(std::string_view authority, const std::string& address) {
  const Authority parts = parseAuthority(authority, address);
  RemoteShell shell = parseShell(environment("RINGSCOPE_SSH", "ssh"));
  shell.words.insert(shell.words.end(),
                     {"-T", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=10"});
  if (!parts.port.empty()) shell.words.insert(shell.words.end(), {"-p", parts.port});
  shell.words.push_back(parts.user.empty() ? parts.host : parts.user + "@" + parts.host);
  shell.machine = parts.host;
  return shell;
}

/// Returns the last line that is not empty.
std::string lastLine(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  const auto start = text.rfind('\n');
  return toPlainText(start == std::string::npos ? text : text.substr(start + 1), 300);
}

}  // namespace

bool isRemoteAddress(std::string_view text) {
  return text.starts_with(kSshScheme) || text.starts_with(kShellScheme);
}

RemoteAddress parseRemoteAddress(const std::string& text) {
  const bool ssh = text.starts_with(kSshScheme);
  const std::string_view rest =
      std::string_view(text).substr(ssh ? kSshScheme.size() : kShellScheme.size());
  const std::size_t slash = rest.find('/');
  const std::string_view authority = rest.substr(0, slash);
  const std::string path = remotePath(rest, slash, text);
  if (ssh) return {sshShell(authority, text), path};
  return {parseShell(unescape(authority, text)), path};
}

std::string shellAddress(const std::string& prefix, const std::string& path) {
  const std::string rooted = path.starts_with('/') ? path : "/~/" + path;
  return std::string(kShellScheme) + escape(prefix, "-._") + escape(rooted, "-._/~ ");
}

RemoteShell parseShell(const std::string& prefix) {
  RemoteShell shell{splitWords(prefix), toPlainText(prefix, 100)};
  if (shell.words.empty())
    throw usageError("the command prefix is empty; write one such as ssh gpu-box");
  return shell;
}

std::vector<std::string> splitWords(const std::string& text) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool escapes = c == '\\' && quote != '\'' && i + 1 < text.size();
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (word) words.push_back(*std::exchange(word, std::nullopt));
      continue;
    }
    if (!word) word.emplace();
    if (escapes)
      *word += text[++i];
    else if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = 0;
    else
      *word += c;
  }
  if (quote != 0)
    throw usageError(toPlainText(text, 300) + ": the quote " + quote + " is not closed");
  if (word) words.push_back(*word);
  return words;
}

std::vector<std::string> remoteCommand(const RemoteShell& shell,
                                       const std::vector<std::string>& arguments,
                                       const std::string& before) {
  const std::string begin(kBeginLine.substr(0, kBeginLine.size() - 1));
  std::string line =
      before + "echo " + quoteWord(begin) + "; " + environment("RINGSCOPE_REMOTE", "ringscope");
  for (const std::string& argument : arguments) line += " " + quoteWord(argument);
  std::vector<std::string> command = shell.words;
  command.push_back(std::move(line));
  return command;
}

std::string describeRemoteEnd(const RemoteShell& shell, int exit_code, const std::string& errors) {
  constexpr int kSshFailed = 255, kNotFound = 127, kNotExecutable = 126;
  const std::string said = lastLine(errors);
  const std::string because = said.empty() ? "" : ": " + said;
  if (exit_code == kNotFound || exit_code == kNotExecutable)
    return shell.machine + " has no ringscope in its PATH" + because +
           ". Install RingScope there, or set RINGSCOPE_REMOTE to its path there";
  if (exit_code == kSshFailed)
    return shell.machine + " cannot be reached" + because + ". Try `" + shell.words.front() +
           " … true` in a terminal until it asks nothing and succeeds";
  if (said.find("no command '") != std::string::npos)
    return "the RingScope of " + shell.machine +
           " is too old to serve recordings; install this version there";
  return "the command on " + shell.machine + " ended with exit code " + std::to_string(exit_code) +
         because;
}

}  // namespace ringscope::traces
