import { useState } from "preact/hooks";
import { IconButton } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Checkbox } from "../ui/field.tsx";
import { alerts, keepAlerts, playSound } from "../waiting.ts";

/** A button for the settings of this browser: how the user is told that somebody waits. */
export function AlertsButton() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <IconButton icon="bell" label="Alerts" onClick={() => setOpen(true)} />
      {isOpen && (
        <Dialog title="Alerts" onClose={() => setOpen(false)}>
          <AlertsForm />
        </Dialog>
      )}
    </>
  );
}

function AlertsForm() {
  const [isBlocked, setBlocked] = useState(false);
  const { sound, notification } = alerts.value;
  const setNotification = async (wanted: boolean) => {
    const isGranted = wanted && "Notification" in window && (await Notification.requestPermission()) === "granted";
    setBlocked(wanted && !isGranted);
    keepAlerts({ ...alerts.peek(), notification: isGranted });
  };
  return (
    <>
      <p>How this browser tells you that another conversation waits, while you work in another window.</p>
      <Checkbox
        label="Play a sound"
        checked={sound}
        onChange={({ currentTarget: { checked } }) => {
          if (checked) playSound();
          keepAlerts({ ...alerts.peek(), sound: checked });
        }}
      />
      <Checkbox
        label="Show a notification"
        checked={notification}
        onChange={({ currentTarget }) => {
          const { checked } = currentTarget;
          // It is checked once the browser allows it.
          currentTarget.checked = notification;
          void setNotification(checked);
        }}
      />
      {isBlocked && (
        <p class="field-error" role="alert">
          Your browser blocks notifications of this page. Allow them in the settings of the browser, and try again.
        </p>
      )}
    </>
  );
}
