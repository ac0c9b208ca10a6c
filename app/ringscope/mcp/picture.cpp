// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope/mcp/picture.h"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "app/command_line/command.h"
#include "app/ringscope/mcp/child.h"
#include "traces/format/core/error.h"
#include "traces/format/core/resources.h"

namespace ringscope::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPictureBytes = 3'000'000;

/// A folder that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "ringscope-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw runFailed("no temporary folder can be made in " + fs::temp_directory_path().string());
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string base64(const std::string& bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = i; j < i + 3; ++j)
      group = (group << 8) | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j)
      text += i + j > bytes.size() ? '=' : kDigits[(group >> (18 - 6 * j)) & 63];
  }
  return text;
}

}  // namespace

nlohmann::json drawPicture(const nlohmann::json& arguments, const AllowedFiles& files) {
  const std::string window = traces::programBeside("ringscope-gui");
  if (window.empty())
    throw inputError("pictures need the window; install it with pip install 'ringscope[gui]'");
  const TemporaryFolder folder;
  const std::string path = folder.file("picture.png");
  const std::string size = std::to_string(arguments.value("width", 1280)) + "x" +
                           std::to_string(arguments.value("height", 800));
  std::vector<std::string> command{
      window,   "--screenshot", path,
      "--size", size,           "--view=" + arguments.value("view", std::string("ring"))};
  if (arguments.contains("at")) command.push_back("--at=" + arguments["at"].get<std::string>());
  if (arguments.contains("against"))
    command.insert(command.end(), {"--against", files.resolve(arguments["against"])});
  command.push_back(files.resolve(arguments["file"]));
  const ChildResult child = runChild(command, {});
  if (child.timed_out) throw runFailed("drawing took too long and was ended");
  if (child.exit_code != kSuccess) throw runFailed(child.err.substr(0, kMostNoteBytes));
  std::ifstream in(path, std::ios::binary);
  const std::string png{std::istreambuf_iterator<char>(in), {}};
  if (png.size() > kMostPictureBytes)
    throw runFailed("the picture is too large; ask for less width");
  const nlohmann::json image = {
      {"type", "image"}, {"data", base64(png)}, {"mimeType", "image/png"}};
  return {{"content", nlohmann::json::array({image})}, {"isError", false}};
}

}  // namespace ringscope::app
