// SPDX-License-Identifier: Apache-2.0
#include "app/command_line/last_border.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "app/command_line/command.h"
#include "traces/format/core/sentence_of.h"

namespace ringscope::app {
namespace {

constexpr const char* kNoMemory = "there is not enough memory for this";

std::atomic<bool> run_started{false};
std::atomic<bool> returning{false};
std::atomic_flag ending = ATOMIC_FLAG_INIT;
/// The signal stack of onFault(), because a fault may mean that the stack cannot grow.
std::array<char, 1 << 15> fault_stack;

/// Ends the process with `sentence`. Allocates no memory. If several threads fail, only the first
/// writes.
[[noreturn]] void end(const char* sentence) noexcept {
  while (ending.test_and_set()) ::pause();
  std::array<char, 600> line{"ringscope: "};
  std::strncat(line.data(), sentence, line.size() - std::strlen(line.data()) - 2);
  std::strcat(line.data(), "\n");
  (void)!::write(STDERR_FILENO, line.data(), std::strlen(line.data()));
  ::_exit(failureCode());
}

[[noreturn]] void onTerminate() noexcept {
  std::string sentence;
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    try {
      sentence = traces::toSentence(error);
    } catch (const std::exception&) {
      end(kNoMemory);
    }
  } catch (...) {  // not a std::exception, so there is no text to show
  }
  end(sentence.empty() ? "it was ended by an error that does not say what it is"
                       : sentence.c_str());
}

bool memoryIsLimited() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

void onFault(int number) {
  if (memoryIsLimited()) end(kNoMemory);
  std::signal(number, SIG_DFL);
  std::raise(number);
}

/// Installs onFault(), unless a tool such as a sanitizer already handles the signal.
void catchFault(int number) {
  struct sigaction known {};
  ::sigaction(number, nullptr, &known);
  if (known.sa_handler != SIG_DFL) return;
  struct sigaction action {};
  action.sa_handler = onFault;
  action.sa_flags = SA_ONSTACK;
  ::sigaction(number, &action, nullptr);
}

}  // namespace

void guardEnds() {
  std::set_terminate(onTerminate);
  std::atexit([] {
    if (!returning) end("a library ended the program");
  });
  stack_t stack{};
  stack.ss_sp = fault_stack.data();
  stack.ss_size = fault_stack.size();
  ::sigaltstack(&stack, nullptr);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT}) catchFault(number);
}

void runStarts() {
  run_started = true;
}

int failureCode() {
  return run_started ? kRunFailed : kUsageOrInput;
}

void returnsByItself() {
  returning = true;
}

}  // namespace ringscope::app
