/** A wake-up: which delivery to look at. What there is to do stands in its row. */
export interface DeliveryMessage {
  deliveryId: string;
}
