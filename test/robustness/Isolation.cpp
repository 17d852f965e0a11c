//===- Isolation.cpp - Cases in processes of their own --------------------===//
#include "Robustness.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace robustness;

namespace {

constexpr unsigned maxJobs = 64;

/// What a process tells the one that watches it, also when it dies.
struct Worker {
  char doing[1024];
};
struct Shared {
  std::atomic<size_t> next = 0;
  std::atomic<uint64_t> accepted = 0, refused = 0, faults = 0;
  Worker workers[maxJobs];
};

/// Its own lines reach the standard output; what the compiler prints is a fault.
class IsolatedReport : public Report {
public:
  IsolatedReport(Shared &shared, Worker &worker, unsigned seconds, int output, int printed)
      : shared(shared), worker(worker), seconds(seconds), output(output), printed(printed) {}

  void begin(const std::string &what) override {
    std::snprintf(worker.doing, sizeof(worker.doing), "%s", what.c_str());
    itimerval limit = {{0, 0}, {seconds, 0}};
    setitimer(ITIMER_PROF, &limit, nullptr);
    alarm(20 * seconds); // Nor may it sleep.
  }
  void accepted() override { ++shared.accepted, checkPrinted(); }
  void refused() override { ++shared.refused, checkPrinted(); }
  void fault(const std::string &what) override {
    ++shared.faults;
    std::string line = std::string(worker.doing) + ": " + what + "\n";
    (void)!write(output, line.data(), line.size());
  }

private:
  void checkPrinted() {
    struct stat file;
    if (fstat(printed, &file) || file.st_size <= known)
      return;
    known = file.st_size;
    fault("the compiler prints");
  }
  Shared &shared;
  Worker &worker;
  unsigned seconds;
  int output, printed;
  off_t known = 0;
};

class HereReport : public Report {
public:
  explicit HereReport(Summary &summary) : summary(summary) {}
  void begin(const std::string &what) override { std::printf("%s\n", what.c_str()), std::fflush(stdout); }
  void accepted() override { ++summary.accepted, std::printf("accepted\n"); }
  void refused() override { ++summary.refused, std::printf("refused\n"); }
  void fault(const std::string &what) override { ++summary.faults, std::printf("fault: %s\n", what.c_str()); }

private:
  Summary &summary;
};

/// The last lines that a process has printed.
std::string tail(int file) {
  off_t size = lseek(file, 0, SEEK_END), begin = std::max<off_t>(0, size - 6000);
  std::string text(size - begin, '\0');
  ssize_t read = pread(file, text.data(), text.size(), begin);
  text.resize(std::max<ssize_t>(read, 0));
  return text;
}

} // namespace

Summary robustness::runIsolated(size_t count, unsigned jobs, unsigned seconds,
                                const std::function<void(size_t, Report &)> &body) {
  void *memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    std::exit(2);
  }
  auto &shared = *new (memory) Shared();
  jobs = std::min<unsigned>(std::max(jobs, 1u), maxJobs);
  std::vector<int> printed(jobs);
  std::vector<pid_t> processes(jobs);
  auto start = [&](unsigned number) {
    Worker &worker = shared.workers[number];
    std::FILE *file = std::tmpfile();
    printed[number] = fileno(file);
    std::snprintf(worker.doing, sizeof(worker.doing), "the start");
    processes[number] = fork();
    if (processes[number] != 0)
      return;
    int output = dup(STDOUT_FILENO);
    dup2(printed[number], STDOUT_FILENO);
    dup2(printed[number], STDERR_FILENO);
    IsolatedReport report(shared, worker, seconds, output, printed[number]);
    for (size_t index; (index = shared.next++) < count;)
      body(index, report);
    _exit(0);
  };

  Summary summary;
  std::fflush(nullptr);
  unsigned running = jobs;
  for (unsigned number = 0; number < jobs; ++number)
    start(number);
  while (running) {
    int status = 0;
    pid_t process = wait(&status);
    if (process < 0)
      break;
    unsigned number = 0;
    while (number < jobs && processes[number] != process)
      ++number;
    if (number == jobs)
      continue;
    bool isDead = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    if (isDead) {
      int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      bool isHang = signal == SIGPROF || signal == SIGALRM;
      ++(isHang ? summary.hangs : summary.crashes);
      std::printf("%s: %s (%s)\n%s", shared.workers[number].doing, isHang ? "hang" : "crash",
                  signal ? strsignal(signal) : "it exits", tail(printed[number]).c_str());
      std::fflush(stdout);
    }
    close(printed[number]);
    if (isDead && shared.next < count)
      start(number);
    else
      --running;
  }
  summary.accepted = shared.accepted;
  summary.refused = shared.refused;
  summary.faults = shared.faults;
  munmap(memory, sizeof(Shared));
  return summary;
}

Summary robustness::runHere(size_t index, const std::function<void(size_t, Report &)> &body) {
  Summary summary;
  HereReport report(summary);
  body(index, report);
  return summary;
}
