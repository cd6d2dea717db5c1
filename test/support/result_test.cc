// What a Result says of itself, and what access to the half that is not there does in every build.
#include "partitiontuner/support/result.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <functional>
#include <string>

namespace pt::result_test {
namespace {

struct Ending {
  int signal = 0;
  std::string said;
};

// How `access` ends a child process, and what that writes to standard error.
Ending EndingOf(const std::function<void()>& access) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    dup2(ends[1], STDERR_FILENO);
    access();
    _exit(0);
  }
  close(ends[1]);
  Ending ending;
  char bytes[256];
  for (ssize_t count; (count = read(ends[0], bytes, sizeof bytes)) > 0;) ending.said.append(bytes, count);
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
  return ending;
}

Result<std::string> Failing() { return MakeError(ErrorCode::kPartial, "a.b", "3 of 4 are missing", "call it again"); }

TEST_CASE("Result, ValueThatIsNotThereEndsTheProcessWithTheError", "[support]") {
  const auto plain = EndingOf([] { (void)Failing().value(); });
  CHECK(plain.signal == SIGABRT);
  CHECK(plain.said.find("3 of 4 are missing; call it again") != std::string::npos);
  for (const auto& access :
       {std::function<void()>([] { (void)Failing()->size(); }), std::function<void()>([] { (void)*Failing(); })}) {
    const Ending ending = EndingOf(access);
    CHECK(ending.signal == SIGABRT);
    CHECK(ending.said == plain.said);
  }
}

TEST_CASE("Result, ErrorThatIsNotThereEndsTheProcess", "[support]") {
  const auto of_value = EndingOf([] { (void)Result<int>(1).error(); });
  CHECK(of_value.signal == SIGABRT);
  CHECK_FALSE(of_value.said.empty());
  CHECK(EndingOf([] { (void)Status().error(); }).signal == SIGABRT);
}

TEST_CASE("Result, ValueThatIsThereIsGiven", "[support]") {
  CHECK(Result<int>(7).value() == 7);
  CHECK(EndingOf([] { (void)Result<int>(7).value(); }).signal == 0);
}

}  // namespace
}  // namespace pt::result_test
