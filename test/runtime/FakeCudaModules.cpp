//===- FakeCudaModules.cpp - The fake driver: code, streams, graphs -------===//
#include "FakeDriver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace fake;

static void execute(const Recorded &node) {
  state.launches.push_back(node.launch);
  clockMs += 0.5f;
}

/// The entries of a PTX text and the sizes of their parameters.
static void parse(CuModule module, const std::string &ptx) {
  for (size_t at = 0; (at = ptx.find(".entry ", at)) != std::string::npos;) {
    at += std::strlen(".entry ");
    size_t open = ptx.find('(', at), close = ptx.find(')', at);
    auto function = std::make_unique<CuFunctionTag>();
    function->name = ptx.substr(at, open - at);
    for (size_t p = open; (p = ptx.find(".param .", p)) < close;) {
      p += std::strlen(".param .");
      function->paramBytes.push_back(std::atoi(ptx.c_str() + p + 1) / 8);
    }
    functions.insert(function.get());
    std::string name = function->name;
    module->functions[name] = std::move(function);
  }
}

CuResult fake::cuModuleLoadDataEx(CuModule *module, const void *image, unsigned numOptions,
                            int *options, void **values) {
  CuResult failure = enter("cuModuleLoadDataEx");
  if (failure) {
    char *log = nullptr;
    size_t bytes = 0;
    for (unsigned i = 0; i < numOptions; ++i) {
      if (options[i] == CuJitErrorLogBuffer)
        log = static_cast<char *>(values[i]);
      if (options[i] == CuJitErrorLogBufferSizeBytes)
        bytes = reinterpret_cast<size_t>(values[i]);
    }
    if (const char *text = std::getenv("FAKE_CUDA_LOG"); text && log && bytes)
      std::strncpy(log, text, bytes - 1);
    return failure;
  }
  if (!current())
    return invalidContext;
  if (breaksCapture())
    return captureUnsupported;
  create(module, "module");
  parse(*module, static_cast<const char *>(image));
  return CuSuccess;
}
CuResult fake::cuModuleUnload(CuModule module) {
  ENTER_NO_CAPTURE(cuModuleUnload);
  for (auto &[name, function] : module->functions)
    functions.erase(function.get());
  return destroy(module, "module");
}
CuResult fake::cuModuleGetFunction(CuFunction *function, CuModule module, const char *name) {
  ENTER_CONTEXT(cuModuleGetFunction);
  auto it = module->functions.find(name);
  if (it == module->functions.end())
    return CuErrorNotFound;
  *function = it->second.get();
  return CuSuccess;
}
CuResult fake::cuFuncSetAttribute(CuFunction, int attribute, int value) {
  ENTER_CONTEXT(cuFuncSetAttribute);
  state.functionAttributes[attribute] = value;
  return CuSuccess;
}
CuResult fake::cuFuncGetAttribute(int *value, int attribute, CuFunction) {
  ENTER_CONTEXT(cuFuncGetAttribute);
  std::map<int, int> values = {{CuFuncMaxThreadsPerBlock, state.maxThreads},
                               {CuFuncSharedSizeBytes, state.staticSharedBytes},
                               {CuFuncLocalSizeBytes, state.localBytes},
                               {CuFuncNumRegs, state.registers}};
  *value = values.at(attribute);
  return CuSuccess;
}
CuResult fake::cuFuncGetParamInfo(CuFunction function, size_t index, size_t *offset, size_t *bytes) {
  ENTER_CONTEXT(cuFuncGetParamInfo);
  if (index >= function->paramBytes.size())
    return CuErrorInvalidValue;
  *offset = 0;
  for (size_t i = 0; i < index; ++i)
    *offset += function->paramBytes[i];
  *bytes = function->paramBytes[index];
  return CuSuccess;
}
CuResult fake::cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CuFunction, int threads,
                                                     size_t sharedBytes) {
  ENTER_CONTEXT(cuOccupancyMaxActiveBlocksPerMultiprocessor);
  *blocks = 2048 / threads;
  if (sharedBytes)
    *blocks = std::min<int>(*blocks, 228 * 1024 / sharedBytes);
  return CuSuccess;
}
CuResult fake::cuLaunchKernelEx(const CuLaunchConfig *config, CuFunction function, void **params,
                          void **extra) {
  ENTER_CONTEXT(cuLaunchKernelEx);
  if (!functions.count(function))
    return invalidHandle;
  if (extra || config->attributes || config->numAttributes)
    return CuErrorInvalidValue;
  Recorded node{function,
                {function->name, config->gridX, config->gridY, config->gridZ, config->blockX,
                 config->blockY, config->blockZ, config->sharedBytes, {}}};
  for (size_t i = 0; i < function->paramBytes.size(); ++i)
    std::memcpy(&node.launch.params.emplace_back(0), params[i], function->paramBytes[i]);
  if (config->stream->capturing)
    config->stream->nodes.push_back(std::move(node));
  else
    execute(node);
  return CuSuccess;
}

CuResult fake::cuStreamBeginCapture(CuStream stream, int mode) {
  ENTER_CONTEXT(cuStreamBeginCapture);
  state.captureMode = mode;
  stream->capturing = true;
  stream->invalid = false;
  stream->thread = std::this_thread::get_id();
  capturing = stream;
  return CuSuccess;
}
CuResult fake::cuStreamEndCapture(CuStream stream, CuGraph *graph) {
  ENTER_CONTEXT(cuStreamEndCapture);
  if (!stream->capturing)
    return captureUnmatched;
  if (stream->thread != std::this_thread::get_id())
    return CuErrorStreamCaptureWrongThread;
  stream->capturing = false;
  capturing = nullptr;
  if (stream->invalid)
    return captureInvalidated;
  create(graph, "graph");
  (*graph)->nodes = std::move(stream->nodes);
  stream->nodes.clear();
  return CuSuccess;
}
CuResult fake::cuGraphInstantiateWithFlags(CuGraphExec *exec, CuGraph graph, unsigned long long) {
  ENTER_CONTEXT(cuGraphInstantiateWithFlags);
  create(exec, "exec");
  (*exec)->nodes = graph->nodes;
  return CuSuccess;
}
CuResult fake::cuGraphUpload(CuGraphExec, CuStream) {
  ENTER_CONTEXT(cuGraphUpload);
  return CuSuccess;
}
CuResult fake::cuGraphLaunch(CuGraphExec exec, CuStream) {
  ENTER_CONTEXT(cuGraphLaunch);
  for (const Recorded &node : exec->nodes) {
    if (!functions.count(node.function))
      return illegalAddress;
    execute(node);
  }
  return CuSuccess;
}
CuResult fake::cuGraphExecDestroy(CuGraphExec exec) {
  ENTER_CONTEXT(cuGraphExecDestroy);
  return destroy(exec, "exec");
}
CuResult fake::cuGraphDestroy(CuGraph graph) {
  ENTER_CONTEXT(cuGraphDestroy);
  return destroy(graph, "graph");
}

CuResult fake::cuEventCreate(CuEvent *event, unsigned) {
  ENTER_CONTEXT(cuEventCreate);
  return create(event, "event");
}
CuResult fake::cuEventDestroy(CuEvent event) {
  ENTER_CONTEXT(cuEventDestroy);
  return destroy(event, "event");
}
CuResult fake::cuEventRecord(CuEvent event, CuStream) {
  ENTER_CONTEXT(cuEventRecord);
  event->at = clockMs;
  return CuSuccess;
}
CuResult fake::cuEventSynchronize(CuEvent event) {
  ENTER_CONTEXT(cuEventSynchronize);
  return event->at < 0 ? CuErrorInvalidValue : CuSuccess;
}
CuResult fake::cuEventElapsedTime(float *milliseconds, CuEvent start, CuEvent end) {
  ENTER_CONTEXT(cuEventElapsedTime);
  *milliseconds = end->at - start->at;
  return CuSuccess;
}
