/** A wake-up for one delivery. The delivery's row says what is to be done. */
export interface DeliveryMessage {
  deliveryId: string;
}
