// Pages in a frame of a learning platform. Without this script, their buttons do the same.
document.querySelector("form[data-send]")?.submit();

const zone = document.querySelector("[data-zone]"); // of a class that a choice makes
if (zone) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;

const once = document.querySelector("form[data-once]");
once?.addEventListener("submit", () => {
  once.hidden = true; // its ticket works once
  document.querySelector("[data-opened]").hidden = false;
});

// A platform that has opened a window for its registration closes it.
if (document.querySelector("[data-close]"))
  (window.opener || window.parent).postMessage({ subject: "org.imsglobal.lti.close" }, "*");

// Where cookies are blocked, the platform's page remembers which browser has begun a launch.
const WAIT = 5000; // ms; a platform that does not answer must not stop the launch
const storing = document.querySelector("[data-storing]")?.dataset;
if (storing) {
  const holder = window.opener || window.parent;
  const form = document.querySelector("form");
  const puts = storing.storing === "put";
  const id = `wallclock-${storing.key}`;
  let done = false;
  const go = (value) => {
    if (done) return;
    done = true;
    if (puts) return location.replace(storing.next);
    form.elements.kept.value = value || "-";
    form.submit();
  };
  addEventListener("message", (event) => {
    if (event.origin === storing.origin && event.data?.message_id === id) go(event.data.value);
  });
  const named = storing.target && storing.target !== "_parent";
  const frame = (named && holder.frames[storing.target]) || holder;
  const message = { subject: puts ? "lti.put_data" : "lti.get_data", message_id: id };
  frame.postMessage({ ...message, key: `state_${storing.key}`, value: storing.value }, storing.origin);
  setTimeout(go, WAIT);
}
