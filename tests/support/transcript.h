// Reads the golden transcripts of tests/golden (its README has the formats).
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace walpost::testing {

struct RecordedFrame {
  int line = 0;  // in the file, from 1
  char kind = 0;
  std::string body;  // of the CopyData message

  bool is_keepalive() const { return kind == 'k'; }
  // The pgoutput message, behind XLogData's 25 bytes.
  std::string_view message() const { return std::string_view(body).substr(25); }
};

inline std::filesystem::path GoldenDirectory() {
  return std::filesystem::path(WALPOST_SOURCE_DIR) / "tests" / "golden";
}

// The stems of the recordings of one stream ("", "everything", "binary" or
// "streamed"), one for each major: "pg14", "pg15.binary".
inline std::vector<std::string> Recordings(std::string_view stream) {
  std::vector<std::string> stems;
  for (int major = 14; major <= 18; ++major) {
    std::string stem = "pg" + std::to_string(major);
    if (!stream.empty()) stem.append(".").append(stream);
    stems.push_back(std::move(stem));
  }
  return stems;
}

inline std::vector<std::string> AllRecordings() {
  std::vector<std::string> stems;
  for (const char* stream : {"", "everything", "binary", "streamed"}) {
    std::ranges::copy(Recordings(stream), std::back_inserter(stems));
  }
  return stems;
}

// A recording's name as GoogleTest takes it.
inline std::string TestName(std::string stem) {
  std::ranges::replace(stem, '.', '_');
  return stem;
}

// The lines of a golden file that are neither empty nor a comment, with their
// numbers.
inline std::vector<std::pair<int, std::string>> GoldenLines(
    const std::string& file) {
  const auto path = GoldenDirectory() / file;
  std::ifstream input(path);
  if (!input) throw std::runtime_error("cannot read " + path.string());
  std::vector<std::pair<int, std::string>> lines;
  std::string text;
  for (int number = 1; std::getline(input, text); ++number) {
    if (!text.empty() && text[0] != '#') lines.emplace_back(number, text);
  }
  return lines;
}

inline std::string FromHex(std::string_view hex) {
  const auto digit = [](char c) {
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
  };
  std::string bytes(hex.size() / 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] =
        static_cast<char>(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
  }
  return bytes;
}

inline std::vector<RecordedFrame> ReadTranscript(const std::string& stem) {
  std::vector<RecordedFrame> frames;
  for (const auto& [number, text] : GoldenLines(stem + ".transcript")) {
    // "00000000017DFAB0 I 7700…"
    frames.push_back({number, text.at(17), FromHex(text.substr(19))});
  }
  return frames;
}

inline std::vector<std::string> ReadExpected(const std::string& stem) {
  std::vector<std::string> lines;
  for (auto& [number, text] : GoldenLines(stem + ".expected")) {
    lines.push_back(std::move(text));
  }
  return lines;
}

// The fields of an expected line, between tabs.
inline std::vector<std::string> SplitFields(std::string_view line) {
  std::vector<std::string> fields;
  for (size_t tab = 0; tab != std::string_view::npos;) {
    tab = line.find('\t');
    fields.emplace_back(line.substr(0, tab));
    line.remove_prefix(std::min(tab, line.size() - 1) + 1);
  }
  return fields;
}

// Undoes the escapes of a text VALUE.
inline std::string Unescape(std::string_view value) {
  std::string text;
  for (size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '\\') {
      text += value[i];
      continue;
    }
    switch (value[++i]) {
      case 't':
        text += '\t';
        break;
      case 'n':
        text += '\n';
        break;
      case 'r':
        text += '\r';
        break;
      default:
        text += value[i];
    }
  }
  return text;
}

}  // namespace walpost::testing
