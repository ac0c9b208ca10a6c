// SPDX-License-Identifier: Apache-2.0
// Addresses of recordings on other machines, and the commands that reach them.
#include "traces/exchange/remote/remote_address.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/remote_machine.h"
#include "traces/format/core/child_process.h"

namespace ringscope::traces {
namespace {

using Words = std::vector<std::string>;

std::string outputFrom(const Words& command) {
  ChildProcess child(command);
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = ::read(child.output(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  EXPECT_EQ(child.wait(), 0);
  return text;
}

TEST(RemoteAddressTest, NamesUserHostPortAndPathToSsh) {
  const test::SetVariable no_words("RINGSCOPE_SSH", "");
  const auto address = parseRemoteAddress("ssh://ada@box:2222/runs/a%20b.rscope");
  EXPECT_EQ(address.path, "/runs/a b.rscope");
  EXPECT_EQ(address.shell.machine, "box");
  const Words& words = address.shell.words;
  ASSERT_GE(words.size(), 4u);
  EXPECT_EQ(words.front(), "ssh");
  EXPECT_EQ((Words{words.end() - 3, words.end()}), (Words{"-p", "2222", "ada@box"}));
  EXPECT_EQ(parseRemoteAddress("ssh://[::1]:22/x").shell.words.back(), "::1");
}

TEST(RemoteAddressTest, TildeIsTheHomeFolderInWhichSshStarts) {
  EXPECT_EQ(parseRemoteAddress("ssh://box/~/runs/x").path, "./runs/x");
  EXPECT_EQ(parseRemoteAddress("ssh://box/~/-x").path, "./-x");
}

TEST(RemoteAddressTest, TheEnvironmentReplacesSshAndAddsOptions) {
  const test::SetVariable ssh("RINGSCOPE_SSH", "ssh -i 'my key' -o \"User=a b\"");
  const auto words = parseRemoteAddress("ssh://box/x").shell.words;
  EXPECT_EQ((Words{words.begin(), words.begin() + 5}),
            (Words{"ssh", "-i", "my key", "-o", "User=a b"}));
}

TEST(RemoteAddressTest, RefusesHostsAndUsersThatSshWouldTakeForSomethingElse) {
  for (const char* address :
       {"ssh://-oProxyCommand=x/y", "ssh://a@-oProxyCommand=x/y", "ssh://-l@box/y", "ssh://box;x/y",
        "ssh://$(x)/y", "ssh://a b/y", "ssh://`x`/y", "ssh:///y", "ssh://a@/y", "ssh://[::1/y",
        "ssh://[-x]/y", "ssh://bo\nx/y"})
    EXPECT_ERROR(parseRemoteAddress(address), ErrorCode::kUsage, "ssh://HOST/PATH");
}

TEST(RemoteAddressTest, RefusesMissingPathsBadPortsAndBadEscapes) {
  for (const char* address : {"ssh://box", "ssh://box/", "ssh://box/~/", "ssh://box:0/x",
                              "ssh://box:65536/x", "ssh://box:/x", "ssh://box:9x/x", "ssh://box/%",
                              "ssh://box/%2", "ssh://box/%zz", "ssh://box/a%00b"})
    EXPECT_ERROR(parseRemoteAddress(address), ErrorCode::kUsage, "ssh://HOST/PATH");
}

TEST(RemoteAddressTest, OnlyAddressesAreRemote) {
  EXPECT_TRUE(isRemoteAddress("ssh://a/b"));
  EXPECT_TRUE(isRemoteAddress("shell://sh%20-c/b"));
  for (const char* path : {"run.rscope", "/ssh://a/b", "./ssh://a/b", "ssh:/a", ""})
    EXPECT_FALSE(isRemoteAddress(path)) << path;
}

TEST(RemoteAddressTest, SplitsWordsAsAShellDoesWithoutExpansions) {
  EXPECT_EQ(splitWords("  a 'b  c'\"d e\" \\  $HOME '' \"\\\"\""),
            (Words{"a", "b  cd e", " ", "$HOME", "", "\""}));
  EXPECT_ERROR(splitWords("a 'b"), ErrorCode::kUsage, "not closed");
  EXPECT_ERROR(parseShell("  "), ErrorCode::kUsage, "empty");
}

TEST(RemoteAddressTest, AShellAddressKeepsPrefixAndPath) {
  const std::string prefix = "docker exec -i 'a b' sh -c", path = "/r/50% ü?#.rscope";
  const std::string text = shellAddress(prefix, path);
  ASSERT_TRUE(isRemoteAddress(text)) << text;
  const auto address = parseRemoteAddress(text);
  EXPECT_EQ(address.shell.words, parseShell(prefix).words);
  EXPECT_EQ(address.path, path);
  EXPECT_EQ(parseRemoteAddress(shellAddress("sh -c", "runs/x")).path, "./runs/x");
}

TEST(RemoteAddressTest, EveryArgumentReachesTheCommandAsOneWord) {
  const test::SetVariable program("RINGSCOPE_REMOTE", "printf '[%s]'");
  const Words arguments{"a b", "it's", "$(touch x)", "`x`", "a;b&c|d>e", "*",
                        "\\",  "",     "\n",         "\"",  "ü"};
  std::string expected(kBeginLine);
  for (const std::string& argument : arguments) expected += "[" + argument + "]";
  EXPECT_EQ(outputFrom(remoteCommand(parseShell("sh -c"), arguments)), expected);
}

}  // namespace
}  // namespace ringscope::traces
