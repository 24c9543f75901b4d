"use strict";
// What players touch: pieces and fields to choose from, and buttons that ask for something.

/** Show at once what has been chosen; the server's answer replaces it. */
function mark(chosen) {
  for (const each of document.querySelectorAll(".tapped")) each.classList.remove("tapped");
  if (chosen.classList.contains("touch")) chosen.classList.add("tapped");
  if (!part("hand").contains(chosen)) return;
  for (const each of part("hand").children) each.setAttribute("aria-pressed", String(each === chosen));
}

function press(button) {
  const message = JSON.parse(button.dataset.do);
  const typed = button.previousElementSibling;
  if (typed?.tagName === "INPUT") {
    if (!typed.reportValidity()) return;
    message[typed.name] = typed.type === "datetime-local" ? Math.max(0, Date.parse(typed.value) / 1000) : typed.value.trim();
  }
  ask(message);
  button.disabled = true;
  pressed.set(message.id, button);
}

document.onclick = ({ target }) => {
  audio ??= new AudioContext();
  busy = performance.now();
  const touched = target.closest("[data-choose], [data-do], [data-go]");
  const code = touched?.dataset.go;
  if (code) {
    localStorage.setItem(`seat ${code}`, ticket);
    location.href = code + location.search;
  } else if (touched?.dataset.do) press(touched);
  else if (touched && socket?.readyState === WebSocket.OPEN) {
    mark(touched);
    socket.send(touched.dataset.choose);
  }
};
