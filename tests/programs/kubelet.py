"""The part of a kubelet that starts pods: asks a runtime over CRI for the containers of a Pod object, as a kubelet would
ask. There is one network, the host's. Volumes are host folders and empty ones.

kubelet.py SOCKET run < POD.json             prints the sandbox, the containers by their names, and the grace
kubelet.py SOCKET exec ID WORD...            with the output and the status of the command
kubelet.py SOCKET remove GRACE SANDBOX ID... each container has GRACE seconds to end
"""
import json
import os
import sys
import tempfile
import time

import grpc

PROFILES = "/var/lib/kubelet/seccomp"
LOGS = "/run/pods"
SCALAR, MAP = "scalar", "map"
# What is used of runtime.v1: by message, each field's number and what is in it.
MESSAGES = {
    "RunPodSandbox": {"config": (1, "PodSandboxConfig")},
    "PodSandboxConfig": {"metadata": (1, "Metadata"), "log_directory": (3, SCALAR), "dns_config": (4, "DNSConfig"),
                         "annotations": (7, MAP), "linux": (8, "LinuxPodSandboxConfig")},
    "Metadata": {"name": (1, SCALAR), "uid": (2, SCALAR), "namespace": (3, SCALAR)},
    "DNSConfig": {"servers": (1, SCALAR)},
    "LinuxPodSandboxConfig": {"security_context": (2, "SandboxSecurity")},
    "SandboxSecurity": {"namespace_options": (1, "NamespaceOption"), "privileged": (6, SCALAR),
                        "seccomp": (9, "SecurityProfile")},
    "NamespaceOption": {"network": (1, SCALAR), "pid": (2, SCALAR), "ipc": (3, SCALAR)},
    "SecurityProfile": {"profile_type": (1, SCALAR), "localhost_ref": (2, SCALAR)},
    "CreateContainer": {"pod_sandbox_id": (1, SCALAR), "config": (2, "ContainerConfig"),
                        "sandbox_config": (3, "PodSandboxConfig")},
    "ContainerConfig": {"metadata": (1, "Metadata"), "image": (2, "ImageSpec"), "command": (3, SCALAR),
                        "args": (4, SCALAR), "envs": (6, MAP), "mounts": (7, "Mount"), "log_path": (11, SCALAR),
                        "linux": (15, "LinuxContainerConfig")},
    "ImageSpec": {"image": (1, SCALAR)},
    "Mount": {"container_path": (1, SCALAR), "host_path": (2, SCALAR), "readonly": (3, SCALAR)},
    "LinuxContainerConfig": {"resources": (1, "Resources"), "security_context": (2, "ContainerSecurity")},
    "Resources": {"memory_limit_in_bytes": (4, SCALAR)},
    "ContainerSecurity": {"capabilities": (1, "Capability"), "privileged": (2, SCALAR),
                          "namespace_options": (3, "NamespaceOption"), "run_as_user": (5, "Int64Value"),
                          "readonly_rootfs": (7, SCALAR), "no_new_privs": (11, SCALAR), "masked_paths": (13, SCALAR),
                          "readonly_paths": (14, SCALAR), "seccomp": (15, "SecurityProfile")},
    "Capability": {"add": (1, SCALAR), "drop": (2, SCALAR)},
    "Int64Value": {"value": (1, SCALAR)},
    "StartContainer": {"container_id": (1, SCALAR)},
    "StopContainer": {"container_id": (1, SCALAR), "timeout": (2, SCALAR)},
    "ContainerStatus": {"container_id": (1, SCALAR)},
    "ExecSync": {"container_id": (1, SCALAR), "cmd": (2, SCALAR), "timeout": (3, SCALAR)},
    "StopPodSandbox": {"pod_sandbox_id": (1, SCALAR)},
    "RemovePodSandbox": {"pod_sandbox_id": (1, SCALAR)},
}
# In a container that is not privileged.
MASKED = ["/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
          "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"]
READONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
POD, CONTAINER, NODE = 0, 1, 2
EXITED = 2


def varint(number):
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def encode(message, values):
    out = b""
    for name, value in values.items():
        number, kind = MESSAGES[message][name]
        if kind == MAP:
            value = [field(1, key) + field(2, text) for key, text in value.items()]
        for one in value if isinstance(value, list) else [value]:
            out += field(number, one if kind in (SCALAR, MAP) else encode(kind, one))
    return out


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def decode(data):
    """Fields by number; of a repeated one the last."""
    found, at = {}, 0

    def number():
        nonlocal at
        result = shift = 0
        while True:
            byte = data[at]
            at += 1
            result |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return result

    while at < len(data):
        key = number()
        if key & 7 == 0:
            found[key >> 3] = number()
        else:
            size = number()
            found[key >> 3] = data[at:at + size]
            at += size
    return found


class Runtime:
    def __init__(self, socket):
        self.channel = grpc.insecure_channel("unix:" + socket)

    def __getattr__(self, method):
        def call(**values):
            request = self.channel.unary_unary("/runtime.v1.RuntimeService/" + method, None, decode)
            return request(encode(method, values), timeout=60)

        return call


def namespaces(spec):
    return {"network": NODE, "pid": NODE if spec.get("hostPID") else CONTAINER, "ipc": POD}


def seccomp(spec, container):
    found = [one.get("securityContext", {}).get("seccompProfile") for one in (container, spec)]
    profile = found[0] or found[1] or {"type": "Unconfined"}
    kind = ["RuntimeDefault", "Unconfined", "Localhost"].index(profile["type"])
    reference = os.path.join(PROFILES, profile["localhostProfile"]) if kind == 2 else ""
    return {"profile_type": kind, "localhost_ref": reference}


def memory(container):
    limit = container.get("resources", {}).get("limits", {}).get("memory", "0Mi")
    return int(limit.removesuffix("Mi")) << 20


def security(spec, container):
    context = container.get("securityContext", {})
    capabilities = context.get("capabilities", {})
    found = {
        "namespace_options": namespaces(spec),
        "capabilities": {"add": capabilities.get("add", []), "drop": capabilities.get("drop", [])},
        "privileged": context.get("privileged", False),
        "readonly_rootfs": context.get("readOnlyRootFilesystem", False),
        "no_new_privs": context.get("allowPrivilegeEscalation") is False,
        "seccomp": seccomp(spec, container),
    }
    if not found["privileged"]:
        found |= {"masked_paths": MASKED, "readonly_paths": READONLY}
    if "runAsUser" in context:
        found["run_as_user"] = {"value": context["runAsUser"]}
    return found


def folders(spec):
    found = {}
    for volume in spec.get("volumes", []):
        if "hostPath" in volume:
            found[volume["name"]] = volume["hostPath"]["path"]
            if volume["hostPath"].get("type") == "DirectoryOrCreate":
                os.makedirs(volume["hostPath"]["path"], 0o755, exist_ok=True)
        else:
            assert volume.get("emptyDir") is not None, f"no such volume here: {volume}"
            found[volume["name"]] = tempfile.mkdtemp(dir="/run")
    return found


class Starting:
    """A pod on its way: what there is of it goes when it cannot be started whole."""

    def __init__(self, runtime, pod):
        self.runtime, self.spec, self.containers = runtime, pod["spec"], {}
        metadata = {"name": pod["metadata"]["name"], "namespace": pod["metadata"].get("namespace", "default")}
        self.config = {
            "metadata": metadata | {"uid": os.urandom(8).hex()},
            "log_directory": os.path.join(LOGS, metadata["name"]),
            "dns_config": {"servers": ["127.0.0.1"]},
            # A kubelet gives it this profile whatever the pod says.
            "linux": {"security_context": {"namespace_options": namespaces(self.spec), "seccomp": {"profile_type": 0}}},
        }
        self.folders = folders(self.spec)
        self.sandbox = runtime.RunPodSandbox(config=self.config)[1].decode()

    def start(self, container):
        mounts = [{"container_path": one["mountPath"], "host_path": self.folders[one["name"]],
                   "readonly": one.get("readOnly", False)} for one in container.get("volumeMounts", [])]
        config = {
            "metadata": {"name": container["name"]}, "image": {"image": container["image"]},
            "command": container.get("command", []), "args": container.get("args", []), "mounts": mounts,
            "envs": {one["name"]: one["value"] for one in container.get("env", [])},
            "log_path": container["name"] + ".log",
            "linux": {"resources": {"memory_limit_in_bytes": memory(container)},
                      "security_context": security(self.spec, container)},
        }
        made = self.runtime.CreateContainer(pod_sandbox_id=self.sandbox, config=config, sandbox_config=self.config)
        self.containers[container["name"]] = made[1].decode()
        self.runtime.StartContainer(container_id=made[1])
        return made[1]

    def run(self):
        for container in self.spec.get("initContainers", []):
            started = self.start(container)
            while (status := decode(self.runtime.ContainerStatus(container_id=started)[1])).get(3, 0) != EXITED:
                time.sleep(0.05)
            assert status.get(7, 0) == 0, f"init container {container['name']} ended with {status[7]}"
        for container in self.spec["containers"]:
            self.start(container)


def remove(runtime, grace, sandbox, containers):
    for container in containers:
        runtime.StopContainer(container_id=container, timeout=grace)
    runtime.StopPodSandbox(pod_sandbox_id=sandbox)
    runtime.RemovePodSandbox(pod_sandbox_id=sandbox)


def main(socket, verb, *words):
    runtime = Runtime(socket)
    if verb == "run":
        starting = Starting(runtime, json.load(sys.stdin))
        try:
            starting.run()
        except BaseException:
            remove(runtime, 0, starting.sandbox, [])
            raise
        grace = starting.spec.get("terminationGracePeriodSeconds", 30)
        print(json.dumps({"sandbox": starting.sandbox, "containers": starting.containers, "grace": grace}))
    elif verb == "exec":
        done = runtime.ExecSync(container_id=words[0], cmd=list(words[1:]), timeout=60)
        sys.stdout.buffer.write(done.get(1, b""))
        sys.stderr.buffer.write(done.get(2, b""))
        return done.get(3, 0)
    else:
        remove(runtime, int(words[0]), words[1], words[2:])
    return 0


try:
    sys.exit(main(*sys.argv[1:]))
except grpc.RpcError as error:
    sys.exit(f"{error.code().name}: {error.details()}")
except AssertionError as error:
    sys.exit(str(error))
