"""A hub for one machine: everybody who has the class's password gets JupyterLab with the course. README.md says how to
start it.

Its settings stand in values.yaml, which a hub of many machines reads, too. Learners are told apart by name only: all
their programs run as the user that runs the hub, so it is for people who trust each other.
"""

import itertools
import math
import os
import resource
import sys
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
FOLDER = Path(
    os.environ.get("AUTOLAB_HUB", "autolab-hub")
).resolve()  # the hub's database, and homes of learners
NICE = 5  # the hub and its proxy are served before learners' programs

values = yaml.safe_load((HERE / "values.yaml").read_text(encoding="utf-8"))
learner, cull = values["singleuser"], values["cull"]
c = get_config()  # noqa: F821 - JupyterHub gives it

# -- who may come ------------------------------------------------------------------------------------------------------
for name, options in values["hub"]["config"].items():
    c[name].update(options)
password = os.environ.get("AUTOLAB_HUB_PASSWORD", "")
if values["hub"]["config"]["JupyterHub"]["authenticator_class"] == "shared-password":
    if len(password) < 8:
        raise SystemExit(
            "AUTOLAB_HUB_PASSWORD should be the password of the class, of 8 characters or more"
        )
    c.SharedPasswordAuthenticator.user_password = password

# -- the hub -----------------------------------------------------------------------------------------------------------
FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
c.JupyterHub.bind_url = os.environ.get("AUTOLAB_HUB_URL", "http://:8000")
c.JupyterHub.db_url = f"sqlite:///{FOLDER / 'hub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(FOLDER / "cookie_secret")
c.ConfigurableHTTPProxy.pid_file = str(FOLDER / "proxy.pid")
c.JupyterHub.concurrent_spawn_limit = values["hub"]["concurrentSpawnLimit"]
c.JupyterHub.active_server_limit = values["hub"]["activeServerLimit"]

# -- a learner's server ------------------------------------------------------------------------------------------------
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = str(FOLDER / "{username}")
c.Spawner.cmd = [str(HERE / "start.sh")]
c.Spawner.args = (
    ["--allow-root"] if os.geteuid() == 0 else []
)  # in a container there is often no other user
c.Spawner.default_url = learner["defaultUrl"]
c.Spawner.start_timeout = c.Spawner.http_timeout = learner["startTimeout"]
c.Spawner.environment = {
    "PATH": f"{sys.prefix}/bin{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    **learner["extraEnv"],
    **{name: os.environ[name] for name in ("AUTOLAB_COURSE",) if name in os.environ},
}
# Of each process of a learner: start.sh, which JupyterHub tells MEM_LIMIT, lets it have so much data.
c.Spawner.mem_limit = learner["memory"]["limit"]
c.Spawner.cpu_limit = learner["cpu"]["limit"]

cores = itertools.cycle(sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [])


def limits():
    """What a server is started with: its cores, one learner's after the other's, and its place behind the hub."""
    mine = set(itertools.islice(cores, math.ceil(learner["cpu"]["limit"])))

    def limit():
        os.nice(NICE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if mine:
            os.sched_setaffinity(0, mine)

    return limit


def before(spawner):
    """JupyterHub calls this before it starts a learner's server."""
    spawner.popen_kwargs = {"preexec_fn": limits()}


c.Spawner.pre_spawn_hook = before

# -- who is away -------------------------------------------------------------------------------------------------------
if cull["enabled"]:
    scopes = ["list:users", "read:users:activity", "read:servers", "delete:servers"]
    c.JupyterHub.load_roles = [
        {"name": "idle-culler", "scopes": scopes, "services": ["idle-culler"]}
    ]
    options = [
        f"--timeout={cull['timeout']}",
        f"--cull-every={cull['every']}",
        f"--concurrency={cull['concurrency']}",
    ]
    command = [sys.executable, "-m", "jupyterhub_idle_culler", *options]
    c.JupyterHub.services = [{"name": "idle-culler", "command": command}]
