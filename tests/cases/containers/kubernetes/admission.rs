//! The admission policy of `deploy/`, asked as an API server asks it: which rules fit, the variables, then every expression;
//! an error counts as the policy says.

use cel::{Context, Env, Value as Cel};
use serde_json::{Map, Value, json};

use super::{EXAMPLE, documents};

const ADMISSION: &str = include_str!("../../../../deploy/base/admission.yaml");

/// A policy and its binding.
struct Admission(Vec<Value>);

struct Request {
    labels: Value,
    operation: &'static str,
    resource: &'static str,
    object: Value,
}

impl Admission {
    fn shipped() -> Self {
        Self(documents(ADMISSION))
    }

    fn changed(change: impl FnOnce(&mut Value, &mut Value)) -> Self {
        let mut both = documents(ADMISSION);
        let (policy, binding) = both.split_at_mut(1);
        change(&mut policy[0], &mut binding[0]);
        Self(both)
    }

    /// Why the request is refused; empty when it is not.
    fn ask(&self, request: &Request) -> Vec<String> {
        let [policy, binding] = &self.0[..] else { panic!("a policy and its binding") };
        let bound = binding["spec"]["policyName"] == policy["metadata"]["name"];
        let denies = list(&binding["spec"]["validationActions"]).contains(&json!("Deny"));
        let wanted = binding["spec"]["matchResources"]["namespaceSelector"]["matchLabels"].as_object();
        let labelled = wanted.into_iter().flatten().all(|(key, value)| request.labels[key] == *value);
        let rules = list(&policy["spec"]["matchConstraints"]["resourceRules"]);
        let fits = rules.iter().any(|rule| {
            let has = |key: &str, value: &str| list(&rule[key]).contains(&json!(value));
            has("apiGroups", "")
                && has("apiVersions", "v1")
                && has("operations", request.operation)
                && has("resources", request.resource)
        });
        if !bound || !denies || !labelled || !fits {
            return Vec::new();
        }
        Self::evaluate(&policy["spec"], &request.object).unwrap_or_else(|error| {
            if policy["spec"]["failurePolicy"] == "Fail" { vec![error] } else { Vec::new() }
        })
    }

    fn evaluate(spec: &Value, object: &Value) -> Result<Vec<String>, String> {
        let mut variables = Map::new();
        for variable in list(&spec["variables"]) {
            let value = match evaluate(&variable["expression"], object, &variables)? {
                Cel::Bool(value) => json!(value),
                Cel::String(value) => json!(*value),
                other => panic!("variables of this kind are not known here: {other:?}"),
            };
            let name = variable["name"].as_str().expect("a variable has a name");
            variables.insert(name.to_owned(), value);
        }
        let mut refused = Vec::new();
        for validation in list(&spec["validations"]) {
            match evaluate(&validation["expression"], object, &variables)? {
                Cel::Bool(true) => {}
                Cel::Bool(false) => refused.push(match validation["message"].as_str() {
                    Some(message) => message.to_owned(),
                    None => match evaluate(&validation["messageExpression"], object, &variables)? {
                        Cel::String(message) => message.to_string(),
                        other => return Err(format!("a message is text, not {other:?}")),
                    },
                }),
                other => return Err(format!("{other:?} is neither true nor false")),
            }
        }
        Ok(refused)
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn evaluate(expression: &Value, object: &Value, variables: &Map<String, Value>) -> Result<Cel, String> {
    let expression = expression.as_str().ok_or("an expression is text")?;
    let program = Env::stdlib().compile(expression).map_err(|error| format!("{expression}: {error:?}"))?;
    let mut context = Context::default();
    for (name, value) in [("object", object), ("variables", &Value::Object(variables.clone()))] {
        let value = cel::to_value(value).map_err(|error| error.to_string())?;
        context.add_variable(name, value).map_err(|error| error.to_string())?;
    }
    program.execute(&context).map_err(|error| format!("{expression}: {error}"))
}

fn profile(kind: &str, file: Option<&str>) -> Value {
    let mut profile = json!({"type": kind});
    if let Some(file) = file {
        profile["localhostProfile"] = file.into();
    }
    json!({"seccompProfile": profile})
}

fn ours() -> Value {
    profile("Localhost", Some("shellgate/exec.json"))
}

fn privileged(privileged: bool) -> Value {
    let mut context = ours();
    context["privileged"] = privileged.into();
    context
}

/// A container with this security context.
fn container(context: Value) -> Value {
    let mut container = json!({"name": "c", "image": "i"});
    if !context.is_null() {
        container["securityContext"] = context;
    }
    container
}

/// A pod with this security context and these containers.
fn pod(context: Value, containers: &[Value]) -> Value {
    let mut pod = json!({"metadata": {"name": "p"}, "spec": {"containers": containers}});
    if !context.is_null() {
        pod["spec"]["securityContext"] = context;
    }
    pod
}

/// With containers of another kind.
fn with(mut pod: Value, key: &str, container: &Value) -> Value {
    pod["spec"][key] = json!([container]);
    pod
}

fn good() -> Value {
    pod(ours(), &[container(Value::Null)])
}

fn request(resource: &'static str, object: Value) -> Request {
    let operation = if resource == "pods" { "CREATE" } else { "UPDATE" };
    Request { labels: json!({"shellgate/enforce": "true", "team": "a"}), operation, resource, object }
}

fn annotated(name: &str) -> Value {
    let mut pod = good();
    pod["metadata"]["annotations"] = json!({"team": "a", name: "stop"});
    pod
}

/// Requests that have to be refused, and a word of the reason.
fn bad() -> Vec<(Request, &'static str)> {
    let null = || container(Value::Null);
    let runtime_class = {
        let mut pod = good();
        pod["spec"]["runtimeClassName"] = "kata".into();
        pod
    };
    let pods = [
        (pod(Value::Null, &[null()]), "every container"),
        (pod(json!({"runAsUser": 1}), &[container(json!({"runAsUser": 1}))]), "every container"),
        (pod(profile("RuntimeDefault", None), &[null()]), "every container"),
        (pod(profile("Unconfined", None), &[null()]), "every container"),
        (pod(profile("Localhost", Some("other.json")), &[null()]), "every container"),
        (pod(ours(), &[null(), container(profile("Unconfined", None))]), "every container"),
        (pod(Value::Null, &[container(ours()), null()]), "every container"),
        // No API server lets such a profile through; here it is an error, and errors refuse.
        (pod(profile("Localhost", None), &[null()]), "localhostProfile"),
        (pod(ours(), &[container(privileged(true))]), "no container may be privileged"),
        (with(pod(Value::Null, &[container(ours())]), "initContainers", &null()), "every init container"),
        (with(good(), "initContainers", &container(profile("Unconfined", None))), "every init container"),
        (with(good(), "initContainers", &container(privileged(true))), "no init container"),
        (runtime_class, "runtimeClassName"),
        (annotated("io.kubernetes.cri-o.seccompNotifierAction"), "seccompNotifierAction"),
        (annotated("seccomp-notifier-action.crio.io/c"), "seccompNotifierAction"),
    ];
    let later = [
        (
            with(pod(Value::Null, &[container(ours())]), "ephemeralContainers", &null()),
            "every ephemeral container",
        ),
        (
            with(good(), "ephemeralContainers", &container(profile("Unconfined", None))),
            "every ephemeral container",
        ),
        (with(good(), "ephemeralContainers", &container(privileged(true))), "no ephemeral container"),
    ];
    let pods = pods.into_iter().map(|(pod, why)| (request("pods", pod), why));
    pods.chain(later.into_iter().map(|(pod, why)| (request("pods/ephemeralcontainers", pod), why))).collect()
}

#[test]
fn containers_with_the_profile_are_admitted() {
    let admission = Admission::shipped();
    for pod in [
        good(),
        documents(EXAMPLE)[1].clone(),
        pod(Value::Null, &[container(ours()), container(privileged(false))]),
        pod(profile("RuntimeDefault", None), &[container(ours())]),
        with(good(), "initContainers", &container(Value::Null)),
        with(pod(Value::Null, &[container(ours())]), "initContainers", &container(ours())),
        annotated("team.example/seccompNotifierAction"),
    ] {
        assert_eq!(admission.ask(&request("pods", pod.clone())), Vec::<String>::new(), "{pod}");
    }
    for container in [container(ours()), container(Value::Null)] {
        let pod = with(good(), "ephemeralContainers", &container);
        assert_eq!(admission.ask(&request("pods/ephemeralcontainers", pod)), Vec::<String>::new());
    }
}

#[test]
fn every_container_that_would_not_be_judged_is_refused() {
    let admission = Admission::shipped();
    for (request, why) in bad() {
        let refused = admission.ask(&request).join("; ");
        assert!(refused.contains(why), "{why}: {refused:?} for {}", request.object);
    }
}

#[test]
fn other_namespaces_are_left_alone() {
    let admission = Admission::shipped();
    for labels in [json!({}), json!({"shellgate/enforce": "false"}), json!({"enforce": "true"})] {
        for (request, _) in bad() {
            let request = Request { labels: labels.clone(), ..request };
            assert_eq!(admission.ask(&request), Vec::<String>::new());
        }
    }
}

/// Otherwise a part of the policy could go and no test would tell.
#[test]
fn each_part_of_the_policy_refuses_what_no_other_part_does() {
    let lets_through =
        |admission: &Admission| bad().iter().filter(|(request, _)| admission.ask(request).is_empty()).count();
    assert_eq!(lets_through(&Admission::shipped()), 0);
    let count = |pointer: &str| list(Admission::shipped().0[0].pointer(pointer).expect("it is there")).len();
    let lists = ["/spec/validations", "/spec/matchConstraints/resourceRules"];
    for pointer in lists {
        for index in 0..count(pointer) {
            let changed = Admission::changed(|policy, _| {
                policy.pointer_mut(pointer).and_then(Value::as_array_mut).expect("a list").remove(index);
            });
            assert!(lets_through(&changed) > 0, "nothing needs {pointer}/{index}");
        }
    }
    let all = bad().len();
    for (changed, expected) in [
        (Admission::changed(|policy, _| policy["spec"]["failurePolicy"] = "Ignore".into()), 1),
        (Admission::changed(|_, binding| binding["spec"]["validationActions"] = json!(["Warn"])), all),
        (Admission::changed(|_, binding| binding["spec"]["policyName"] = "other".into()), all),
    ] {
        assert_eq!(lets_through(&changed), expected);
    }
}
