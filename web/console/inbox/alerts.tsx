import { useState } from "preact/hooks";
import { Dialog } from "../ui/dialog.tsx";
import { Checkbox } from "../ui/field.tsx";
import { alerts, keepAlerts, playSound } from "../waiting.ts";

/** The dialog for the settings of this browser: how the user is told that somebody waits. */
export function AlertsDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Alerts" onClose={onClose}>
      <AlertsForm />
    </Dialog>
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
