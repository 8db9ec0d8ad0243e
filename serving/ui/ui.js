// Run by Gradio when the page is there. It presses the page's own buttons and touches no text of a model.
() => {
  const typing = (at) => at && (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || typing(event.target)) return;
    const key = event.key.toLowerCase();
    if (key === "enter" && event.target.matches && event.target.matches("tr[data-row]")) {
      event.target.click();
      return;
    }
    if (!"ynsu".includes(key) || key.length !== 1) return;
    const button = document.getElementById("audit-" + key);
    if (button && button.offsetParent !== null && !button.disabled) {
      event.preventDefault();
      button.click();
    }
  });
}
